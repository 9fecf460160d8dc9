"""Marks of chat templates that a server lets through: they end what is said, and are never shown."""

from __future__ import annotations

import pytest

from bot.core.speech import StopWatcher, Voices, clean
from bot.core.template_marks import turn_in

VOICES = Voices(frozenset({"mira", "assistant"}), frozenset({"anna", "user", "human"}))
SAID = "Good evening. Sit down."

FAMILIES = {
    "ChatML": f"<|im_start|>assistant\n{SAID}<|im_end|>\n<|im_start|>user\nI draw my sword",
    "ChatML with names": f"<|im_start|>Mira\n{SAID}<|im_end|>\n<|im_start|>Anna\nI draw my sword",
    "Llama 2": f"<s> {SAID} </s><s>[INST] I draw my sword [/INST]",
    "Llama 3": f"<|start_header_id|>assistant<|end_header_id|>\n\n{SAID}<|eot_id|><|start_header_id|>user",
    "Gemma": f"<start_of_turn>model\n{SAID}<end_of_turn>\n<start_of_turn>user\nI draw",
    "Phi": f"<|assistant|>\n{SAID}<|end|>\n<|user|>\nI draw my sword",
    "Mistral": f"[/INST] {SAID}[INST] I draw my sword",
    "DeepSeek": f"<｜Assistant｜>{SAID}<｜end▁of▁sentence｜><｜User｜>I draw my sword",
    "Command R": f"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{SAID}<|END_OF_TURN_TOKEN|><|USER_TOKEN|>I draw",
    "harmony": f"<|start|>assistant<|message|>{SAID}<|return|>",
    "Alpaca": f"### Response:\n{SAID}\n\n### Instruction:\nI draw my sword",
    "the end alone": f"{SAID}<|endoftext|>I draw my sword",
    "an end before it": f"<|im_end|>\n{SAID}",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_ends_where_its_template_ends_the_turn(family: str) -> None:
    assert clean(FAMILIES[family], VOICES) == SAID


@pytest.mark.parametrize(
    "text",
    [
        "<|im_start|>user\nI draw my sword",
        "<|im_start|>Anna\nI draw my sword",
        "<start_of_turn>user\nI draw my sword",
        "<|user|>\nI draw my sword",
        "[INST] I draw my sword [/INST]",
        "<|im_end|>",
        '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
        '<tool_call>{"name": "look"',
        '[TOOL_CALLS][{"name": "look", "arguments": {}}]',
        '<|python_tag|>{"name": "look"}',
        '<function=look>{"at": "Anna"}</function>',
    ],
)
def test_what_only_others_or_tools_would_say_is_nothing(text: str) -> None:
    assert clean(text, VOICES) == ""


def test_a_call_of_a_tool_beside_words_is_left_out() -> None:
    assert clean('I look around.\n<tool_call>{"name": "look"}</tool_call>', VOICES) == "I look around."


@pytest.mark.parametrize(
    "text",
    [
        "The sign says [INSTRUMENTS] and <nothing> else.",
        "# Menu\n### Soup of the day\nLentils.",
        "A < b | c > d, and 1 <| 2.",
        "She ends it. The end. <3",
    ],
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert clean(text, VOICES) == text
    assert turn_in(text) == (text, False)


def test_a_text_that_ended_is_not_trimmed_as_one_that_was_cut() -> None:
    assert clean(f"{SAID} And so on<|im_end|>\n<|im_st", VOICES, truncated=True) == f"{SAID} And so on"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_more_is_written_than_the_turn(family: str) -> None:
    watcher, read = StopWatcher(VOICES), ""
    for letter in FAMILIES[family]:
        read += letter
        if not watcher.feed(letter):
            break
    assert SAID in read
    assert "draw" not in read
