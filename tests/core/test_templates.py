from __future__ import annotations

import re
from pathlib import Path

import pytest

import bot.prompts
from bot.core.fences import BLOCKS
from bot.core.templates import VARIABLES, Prompts, Template


def test_a_text_is_filled_once_and_only_once() -> None:
    assert Template("$a owes $$5 to $b.").fill({"a": "Mira $b", "b": "Bob"}) == "Mira $b owes $5 to Bob."


def test_lines_and_blocks_without_values_are_left_out() -> None:
    text = "Hello $name\n\n<scene>\nNow:\nPlace: $place\nTime: $time\n</scene>\n\n<end>\n$last\n</end>"
    values = {"name": "Mira", "place": "", "time": "", "last": "x"}
    assert Template(text).fill(values) == "Hello Mira\n\n<end>\nx\n</end>"
    filled = Template(text).fill({**values, "time": "dusk"})
    assert filled == "Hello Mira\n\n<scene>\nNow:\nTime: dusk\n</scene>\n\n<end>\nx\n</end>"


def test_blocks_inside_a_value_are_none_of_the_templates() -> None:
    assert Template("$a\nend").fill({"a": "<x>\n</x>\n\n\n"}) == "<x>\n</x>\n\n\n\nend"


@pytest.mark.parametrize("values", [{}, {"a": "1", "b": "2"}])
def test_other_variables_than_it_has_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="other variables"):
        Template("$a").fill(values)


def test_the_shipped_prompts_load() -> None:
    prompts = bot.prompts.load()
    assert set(prompts.templates) == set(VARIABLES)
    assert "Mira" in prompts.fill("hints.refused", name="Mira")


def test_every_problem_is_named_at_once() -> None:
    folder = Path(bot.prompts.__file__).parent
    files = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    del files["emotion_task"]
    files["reply_intro"] = "You play $nobody."
    files["surplus"] = "x"
    with pytest.raises(ValueError) as problem:
        Prompts.of(files)
    text = str(problem.value)
    assert "no prompt emotion_task" in text
    assert "reply_intro: missing [$name], unknown [$nobody]" in text
    assert "nothing uses the prompt surplus" in text


def test_every_block_of_a_prompt_is_known_to_what_keeps_quoted_text_inside_it() -> None:
    texts = bot.prompts.load().templates.values()
    names = {name for one in texts for name in re.findall(r"^<(\w+)>$", one.text, re.MULTILINE)}
    assert names <= set(BLOCKS)
