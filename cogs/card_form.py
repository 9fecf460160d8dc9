"""The forms of a persona's texts: what fits is edited in place, what is too long travels as a file."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import discord
from discord import ui

from bot.core.cards import TEMPERAMENTS, nature_of
from bot.core.character import LONGEST_TRAIT
from bot.core.extensions import own_values
from bot.core.options import OPTIONS, STRATEGIES
from bot.core.types import Persona
from bot.errors import UserFacing
from cogs.answers import Asked, Buttons, Form, say, text_file, think

MODAL_LIMIT: Final = 4000
LARGEST_FILE: Final = 1024 * 1024

ITS_OWN: Final = "as its card says"
"""What the menu of temperaments shows for one that has no name."""

Texts = Mapping[str, str]
Submit = Callable[[Asked, Texts], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Field:
    """One input: its word (the custom id), the card's key, what the member reads."""

    word: str
    key: str
    label: str
    hint: str = ""
    long: bool = True
    required: bool = False
    separator: str = ""
    """What stands between the texts of a list: a line of its own with ---, or a comma."""
    choices: tuple[str, ...] = ()
    """What a menu offers instead of an input. A present value that is none of these is offered too."""
    longest: int = MODAL_LIMIT
    own: bool = False
    """Kept among what only Troupe knows of a card (`bot.core.extensions`)."""


MAIN_PAGE: Final = (
    Field("name", "name", "Name", long=False, required=True),
    Field("description", "description", "Description", "Who is it? Looks, past, home, people it knows."),
    Field("personality", "personality", "Personality", "How is it? How does it talk?"),
    Field("greeting", "first_mes", "Greeting", "What it says first when a scene starts."),
    Field("examples", "mes_example", "Examples", "A few lines as it would say them."),
)
MORE_PAGE: Final = (
    Field("nickname", "nickname", "Nickname", "What others call it.", long=False),
    Field("scenario", "scenario", "Scenario", "Where and when it usually is."),
    Field("system_prompt", "system_prompt", "Instructions", "Rules it always follows."),
    Field("post_history_instructions", "post_history_instructions", "Last words before it answers"),
)

LISTS_PAGE: Final = (
    Field(
        "alternates", "alternate_greetings", "Other greetings", "A line with --- between two", separator="---"
    ),
    Field(
        "group", "group_only_greetings", "Greetings for a group", "A line with --- between", separator="---"
    ),
    Field("tags", "tags", "Tags", "With commas between", long=False, separator=","),
    Field("notes", "creator_notes", "Notes", "For people; the language model never sees them"),
    Field(
        "temperament",
        "temperament",
        "Temperament",
        "How it feels when nothing happens",
        choices=tuple(TEMPERAMENTS),
    ),
)
AS_THE_PLACE: Final = "as the channel's settings say"
CHARACTER_PAGE: Final = (
    Field("values", "values", "Values", "What it holds dear", longest=LONGEST_TRAIT, own=True),
    Field("wants", "wants", "Wants", "What it is after", longest=LONGEST_TRAIT, own=True),
    Field("fears", "fears", "Fears", "What it is afraid of", longest=LONGEST_TRAIT, own=True),
    Field("never", "never", "Never", "What it never does or says", longest=LONGEST_TRAIT, own=True),
)
RECALL_PAGE: Final = (
    Field(
        "recall_strategy",
        "recall_strategy",
        "Recall",
        "How it chooses memories",
        choices=(AS_THE_PLACE, *STRATEGIES),
        own=True,
    ),
    Field(
        "emotion_weight",
        "emotion_weight",
        "Weight of feeling",
        "0 to 0.5; one that comforts takes 0. Empty: as the channel's settings say",
        long=False,
        longest=10,
        own=True,
    ),
)
PAGES: Final[Mapping[str, tuple[Field, ...]]] = {
    "main": MAIN_PAGE,
    "more": MORE_PAGE,
    "lists": LISTS_PAGE,
    "character": CHARACTER_PAGE,
    "recall": RECALL_PAGE,
}


def value_of(persona: Persona, field: Field) -> str:
    """What a form shows of a persona."""
    if field.word == "temperament":
        return nature_of(persona.temperament) or ITS_OWN
    if field.own:
        return _own_value(field, own_values(persona.card).get(field.key))
    return persona.name if field.word == "name" else shown_value(field, persona.card.get(field.key))


def _own_value(field: Field, value: object) -> str:
    if isinstance(value, list):
        return "; ".join(item for item in value if isinstance(item, str))
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{value:g}"
    return AS_THE_PLACE if field.choices else ""


def shown_value(field: Field, value: object) -> str:
    """What a form shows of a card's field."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else ""
    between = "\n---\n" if field.separator == "---" else ", "
    return between.join(item for item in value if isinstance(item, str))


def typed_own_value(field: Field, text: str) -> object:
    """What is kept of what was typed into a field of ours; None for nothing. `UserFacing` if it is bad."""
    if field.word not in OPTIONS:
        return text.strip() or None
    if text in ("", AS_THE_PLACE):
        return None
    try:
        return OPTIONS[field.word].parse(text)
    except ValueError as problem:
        raise UserFacing(f"{field.label}: {problem}") from problem


def typed_value(field: Field, text: str) -> str | list[str]:
    """What a card keeps of what was typed."""
    if not field.separator:
        return text
    parts = re.split(r"(?m)^\s*-{3,}\s*$", text) if field.separator == "---" else text.split(",")
    return [part.strip() for part in parts if part.strip()]


def is_long(text: str) -> bool:
    """Whether a text does not fit a modal's input (Discord counts UTF-16 units)."""
    return len(text.encode("utf-16-le")) // 2 > MODAL_LIMIT


class CardForm(Form):
    """One page of a persona's texts. `submit` gets what was typed or uploaded, by word."""

    def __init__(self, *, title: str, fields: Sequence[Field], values: Texts, submit: Submit) -> None:
        super().__init__(title=title, timeout=None)
        self._submit = submit
        self._inputs: dict[str, ui.TextInput[CardForm] | ui.FileUpload[CardForm] | ui.Select[CardForm]] = {}
        for field in fields:
            self.add_item(self._input(field, values.get(field.word, "")))

    def _input(self, field: Field, value: str) -> ui.Label[CardForm]:
        if field.choices:
            menu: ui.Select[CardForm] = ui.Select(custom_id=field.word, required=True)
            for choice in dict.fromkeys((*field.choices, value) if value else field.choices):
                menu.add_option(label=choice, value=choice, default=choice == value)
            self._inputs[field.word] = menu
            return ui.Label(text=field.label, description=field.hint or None, component=menu)
        if is_long(value):
            upload: ui.FileUpload[CardForm] = ui.FileUpload(
                custom_id=field.word, required=False, min_values=0, max_values=1
            )
            self._inputs[field.word] = upload
            about = f"{len(value):,} characters, too long for a form: upload a text file to replace it."
            return ui.Label(text=field.label, description=about, component=upload)
        box: ui.TextInput[CardForm] = ui.TextInput(
            custom_id=field.word,
            style=discord.TextStyle.paragraph if field.long else discord.TextStyle.short,
            default=value or None,
            required=field.required,
            max_length=min(MODAL_LIMIT, max(field.longest, len(value.encode("utf-16-le")) // 2)),
        )
        self._inputs[field.word] = box
        return ui.Label(text=field.label, description=field.hint or None, component=box)

    async def on_submit(self, interaction: Asked, /) -> None:
        """What was typed is never lost: when it is refused it comes back as a file."""
        await think(interaction)
        typed: dict[str, str] = {}
        for word, source in self._inputs.items():
            if isinstance(source, ui.TextInput):
                typed[word] = source.value
            elif isinstance(source, ui.Select):
                typed[word] = source.values[0]
            elif source.values:
                typed[word] = await read_text(source.values[0])
        typed = {word: _one_kind_of_line_ends(text) for word, text in typed.items()}
        try:
            await self._submit(interaction, typed)
        except UserFacing as problem:
            kept = "\n\n".join(f"[{word}]\n{text}" for word, text in typed.items() if text)
            await say(
                interaction,
                f"{problem}\nWhat you typed is attached.",
                files=[text_file("what-you-typed.txt", kept)],
            )


class LongTexts(Buttons):
    """Shown before a form that holds too long texts: they are attached, then the form opens."""

    def __init__(self, *, form: Callable[[], CardForm]) -> None:
        super().__init__()
        self._form = form

    @ui.button(label="Open the form", style=discord.ButtonStyle.primary)
    async def open(self, interaction: Asked, _: ui.Button[LongTexts]) -> None:
        """The form, which may only answer a fresh interaction."""
        await interaction.response.send_modal(self._form())


async def open_form(
    interaction: Asked, *, title: str, fields: Sequence[Field], values: Texts, submit: Submit
) -> None:
    """Open a form at once, or hand out the texts that do not fit and a button that opens it."""

    def form() -> CardForm:
        return CardForm(title=title, fields=fields, values=values, submit=submit)

    long = {word: values[word] for field in fields if is_long(values.get(word := field.word, ""))}
    if not long:
        await interaction.response.send_modal(form())
        return
    await say(
        interaction,
        f"Too long for a form: {', '.join(long)}. The whole text is attached; change it in an editor and "
        "upload it in the form. What you leave empty there stays as it is.",
        view=LongTexts(form=form),
        files=[text_file(f"{word}.txt", text) for word, text in long.items()],
    )


async def read_text(attachment: discord.Attachment) -> str:
    """The text of an uploaded file. `UserFacing` when it is none, or too large."""
    if attachment.size > LARGEST_FILE:
        raise UserFacing(f"{attachment.filename} is larger than 1 MiB. Please send a shorter text.")
    try:
        return (await attachment.read()).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserFacing(f"{attachment.filename} is no UTF-8 text. Please save it as UTF-8.") from problem
    except discord.HTTPException as problem:
        raise UserFacing(
            f"Discord did not give me {attachment.filename}. Please upload it again."
        ) from problem


def changes(before: Texts, typed: Texts) -> dict[str, str]:
    """What really changed: line ends and outer blanks do not count, since Discord touches them."""
    return {word: text for word, text in typed.items() if _plain(text) != _plain(before.get(word, ""))}


def _plain(text: str) -> str:
    return _one_kind_of_line_ends(text).strip()


def _one_kind_of_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
