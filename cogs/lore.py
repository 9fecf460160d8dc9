"""/lore: what is true in the world, told to personas when it matters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import discord
from discord import app_commands
from discord.ext import commands

from bot.core.kept_lore import Listed, Owner
from bot.core.lore_entries import LoreEntry, Position
from bot.core.lore_keys import split_keys
from bot.engine.audit import change
from bot.engine.notices import NO_SCENE
from bot.errors import UserFacing
from cogs.answers import Asked, counted, say, shorten, text_file, think
from cogs.audit import note
from cogs.card_form import Field, Texts, changes, open_form
from cogs.confirm import Confirm
from cogs.names import Choices, here, in_time, matching, persona_choices
from cogs.permissions import moderators_by_default
from cogs.persona_files import CardFiles, file_name
from cogs.uploads import read_file

if TYPE_CHECKING:
    from bot.core.lore import Verdict
    from bot.engine.troupe import Troupe

Scope = Literal["server", "scene", "persona"]
LogicName = Literal["and any", "and all", "not any", "not all"]
PositionName = Literal["before", "after", "at depth"]
Order = app_commands.Range[int, -10_000, 10_000]
Depth = app_commands.Range[int, 0, 100]
Percent = app_commands.Range[int, 0, 100]
_LOGIC_NUMBERS: Final[Mapping[str, int]] = {"and any": 0, "not all": 1, "not any": 2, "and all": 3}
_POSITION_NUMBERS: Final[Mapping[str, int]] = {"before": 0, "after": 1, "at depth": 4}
_PAGE: Final = (
    Field("keys", "keys", "Keys", "Words that bring it up, with commas between; /patterns/ too"),
    Field("text", "content", "Text", "What is true", required=True),
    Field("secondary", "secondary_keys", "Secondary keys", "See the option logic"),
    Field("name", "name", "Name", "For the list only", long=False),
)
_OPTIONS: Final = {
    "scope": "For whom: this server, the scene here, or one persona",
    "persona": "Which persona, for the scope persona",
    "name": "A name for the list",
    "constant": "Always told, keys or not",
    "secondary": "Further keys, with commas between",
    "logic": "What the secondary keys must do",
    "whole_words": "Keys count only as whole words",
    "case_sensitive": "Capitals in keys count",
    "scan_depth": "In how many of the newest turns keys are looked for (4)",
    "order": "Low comes first; high stays when room is short (100)",
    "position": "Before or after the persona's description, or with the newest turns",
    "chance": "How often it comes when its keys are there, in percent",
    "recursion": "Whether it may bring up other entries, and they it",
}


@app_commands.default_permissions(moderators_by_default())
class Lore(commands.GroupCog, name="lore", description="What is true in the world"):
    """Thin: words and files; the engine keeps and chooses the lore."""

    def __init__(self, *, troupe: Troupe, files: CardFiles) -> None:
        super().__init__()
        self._troupe = troupe
        self._files = files

    # ------------------------------------------------------------ add and change
    @app_commands.command(description="Tell something about the world")
    @app_commands.describe(
        text="What is true", keys="Words that bring it up, with commas between; /patterns/ too", **_OPTIONS
    )
    async def add(
        self,
        interaction: Asked,
        *,
        text: app_commands.Range[str, 1, 6000],
        keys: str = "",
        scope: Scope = "server",
        persona: str | None = None,
        name: str = "",
        constant: bool = False,
        secondary: str = "",
        logic: LogicName = "and any",
        whole_words: bool = True,
        case_sensitive: bool = False,
        scan_depth: Depth | None = None,
        order: Order = 100,
        position: PositionName = "before",
        chance: Percent = 100,
        recursion: bool = True,
    ) -> None:
        """One entry."""
        await think(interaction)
        words, further = split_keys(keys), split_keys(secondary)
        if not words and not constant:
            raise UserFacing("Give `keys` that bring it up, or set `constant` so that it is always told.")
        self._troupe.lore.check_keys([*words, *further])
        owner, where = await self._owner(interaction, scope, persona)
        entry = {
            "keys": words,
            "secondary_keys": further,
            "selective": bool(further),
            "content": text,
            "name": name,
            "enabled": True,
            "use_regex": False,
            **_options(
                constant=constant,
                logic=logic,
                whole_words=whole_words,
                case_sensitive=case_sensitive,
                scan_depth=scan_depth,
                order=order,
                position=position,
                chance=chance,
                recursion=recursion,
            ),
        }
        (row,) = await self._troupe.lore.add(owner, [entry], by=interaction.user.id)
        await note(self._troupe, interaction, "lore add", f"{row.id} ({where}) {name or ', '.join(words)}")
        when = "is always told" if constant else f"comes up with {', '.join(words)}"
        await say(interaction, f"Lore `{row.id}` ({where}) {when}. `/lore explain` shows what fires now.")

    @app_commands.command(description="Change an entry: its texts in a form, or the options you give")
    @app_commands.describe(
        entry="Which one",
        enabled="Off: it stays in the list and is never told",
        **{
            key: text
            for key, text in _OPTIONS.items()
            if key not in ("scope", "persona", "name", "secondary")
        },
    )
    async def edit(
        self,
        interaction: Asked,
        *,
        entry: str,
        enabled: bool | None = None,
        constant: bool | None = None,
        logic: LogicName | None = None,
        whole_words: bool | None = None,
        case_sensitive: bool | None = None,
        scan_depth: Depth | None = None,
        order: Order | None = None,
        position: PositionName | None = None,
        chance: Percent | None = None,
        recursion: bool | None = None,
    ) -> None:
        """Without options the form opens."""
        space_id = here(interaction).space_id
        changed = _options(
            enabled=enabled,
            constant=constant,
            logic=logic,
            whole_words=whole_words,
            case_sensitive=case_sensitive,
            scan_depth=scan_depth,
            order=order,
            position=position,
            chance=chance,
            recursion=recursion,
        )
        if changed:
            await think(interaction)
            edited = await self._troupe.lore.edit(space_id, entry, changed)
            given = ", ".join(f"{key} {value}" for key, value in changed.items())
            await note(self._troupe, interaction, "lore edit", f"{edited.ref}: {given}")
            await say(interaction, f"Lore `{edited.ref}` is changed.\n{_line(edited)}")
            return
        found = await self._troupe.lore.find(space_id, entry)
        values = {
            "keys": ", ".join(found.entry.keys),
            "text": str(found.raw.get("content", "")),
            "secondary": ", ".join(found.entry.secondary),
            "name": found.entry.name,
        }

        async def submit(answer: Asked, typed: Texts) -> None:
            await self._change_texts(answer, found, changes(values, typed))

        await open_form(
            interaction, title=shorten(f"Lore {found.ref}", 45), fields=_PAGE, values=values, submit=submit
        )

    async def _change_texts(self, interaction: Asked, found: Listed, typed: Texts) -> None:
        if not typed:
            await say(interaction, "Nothing changed.")
            return
        changed: dict[str, Any] = {}
        for field in _PAGE:
            if field.word in typed:
                text = typed[field.word]
                changed[field.key] = split_keys(text) if field.word in ("keys", "secondary") else text
        if "secondary_keys" in changed:
            changed["selective"] = bool(changed["secondary_keys"])
        space_id = here(interaction).space_id
        edited = await self._troupe.lore.edit(space_id, found.ref, changed)
        before = {"keys": ", ".join(found.entry.keys), "text": found.entry.content, "name": found.entry.name}
        parts = [f"{word} {change(before.get(word, ''), text)}" for word, text in typed.items()]
        await note(self._troupe, interaction, "lore edit", f"{edited.ref}: {', '.join(parts)}")
        await say(interaction, f"Lore `{edited.ref}` is changed.\n{_line(edited)}")

    # ------------------------------------------------------------ see and remove
    @app_commands.command(name="list", description="All lore of this server")
    async def list_all(self, interaction: Asked) -> None:
        """One line each; those of persona cards too."""
        await think(interaction)
        listed = await self._troupe.lore.all(here(interaction).space_id)
        if not listed:
            await say(
                interaction, "There is no lore yet. `/lore add` tells something, `/lore import` takes a book."
            )
            return
        await say(interaction, "\n".join(f"{_line(one.entry)}{_whose(one)}" for one in listed))

    @app_commands.command(description="Which entries fire for the scene here, and why or why not")
    @app_commands.describe(persona="Who would answer; without it the last speaker")
    async def explain(self, interaction: Asked, persona: str | None = None) -> None:
        """As if a persona answered now."""
        await think(interaction)
        place = here(interaction)
        wanted = await self._troupe.personas.find(place.space_id, persona) if persona else None
        who, verdicts = await self._troupe.lore.explain(place, wanted)
        if not verdicts:
            await say(interaction, f"There is no lore for this scene and **{who.name}**.")
            return
        fired = [one for one in verdicts if one.fired]
        others = [one for one in verdicts if not one.fired]
        lines = [f"If **{who.name}** answers now, {len(fired)} of {len(verdicts)} entries are told:"]
        lines += [_explained("✓", one) for one in fired]
        lines += [_explained("✗", one) for one in others]
        await say(interaction, "\n".join(lines))

    @app_commands.command(description="Remove an entry, or all of an imported book (asks before)")
    @app_commands.describe(entry="Which one; `book:` and a name takes a whole imported book")
    async def remove(self, interaction: Asked, entry: str) -> None:
        """Out of its card if it stands in one."""
        await think(interaction)
        space_id = here(interaction).space_id
        if entry.startswith("book:"):
            await self._ask_for_book(interaction, space_id, entry.removeprefix("book:").strip())
            return
        removed = await self._troupe.lore.remove(space_id, entry)
        await note(self._troupe, interaction, "lore remove", f"{removed.ref} {removed.title}")
        await say(interaction, f"Lore `{removed.ref}` ({shorten(removed.title, 80)}) is removed.")

    async def _ask_for_book(self, interaction: Asked, space_id: int, name: str) -> None:
        listed = await self._troupe.lore.all(space_id)
        count, title = sum(one.row is not None and one.row.book == name for one in listed), shorten(name, 80)
        if not count:
            raise UserFacing(f"No lore here came with a book “{title}”.")

        async def confirmed(answer: Asked) -> str:
            gone = await self._troupe.lore.remove_book(space_id, name)
            await note(self._troupe, answer, "lore remove", f"{_entries(gone)} of the book {name}")
            return f"“{title}” is removed, with {_entries(gone)}."

        question = f"Remove “{title}” with {_entries(count)}? Only `/lore export` before keeps a copy."
        await say(interaction, question, view=Confirm(label="Remove", action=confirmed))

    # ------------------------------------------------------------ files
    @app_commands.command(name="import", description="Take a lorebook (V3, SillyTavern) or the one of a card")
    @app_commands.describe(file="The lorebook or card", scope=_OPTIONS["scope"], persona=_OPTIONS["persona"])
    async def import_book(
        self,
        interaction: Asked,
        file: discord.Attachment,
        scope: Scope = "server",
        persona: str | None = None,
    ) -> None:
        """All entries, as they are."""
        await think(interaction)
        owner, where = await self._owner(interaction, scope, persona)
        book = await self._files.read_lorebook(await read_file(file), file.filename)
        name = file.filename.rsplit(".", 1)[0]
        rows = await self._troupe.lore.import_book(owner, book, name=name, by=interaction.user.id)
        title = rows[0].book
        await note(self._troupe, interaction, "lore import", f"{_entries(len(rows))} of {title} ({where})")
        await say(
            interaction,
            f"“{title}” is here, with {_entries(len(rows))} ({where}). "
            f"`/lore remove entry:book:{title}` takes it away again.",
        )

    @app_commands.command(description="Lore as a lorebook V3, to take away")
    @app_commands.describe(scope=_OPTIONS["scope"], persona=_OPTIONS["persona"])
    async def export(self, interaction: Asked, scope: Scope = "server", persona: str | None = None) -> None:
        """A file that other frontends import."""
        await think(interaction)
        owner, where = await self._owner(interaction, scope, persona)
        book = await self._troupe.lore.export_book(owner, where)
        text = json.dumps(book, ensure_ascii=False, indent=2)
        number = len(book["data"]["entries"])
        await say(
            interaction,
            f"{number} entries ({where}).",
            files=[text_file(f"lore-{file_name(where)}.json", text)],
        )

    # ------------------------------------------------------------ helpers
    async def _owner(self, interaction: Asked, scope: str, persona: str | None) -> tuple[Owner, str]:
        """For whom, and in words."""
        place = here(interaction)
        if scope == "persona" or (persona and scope == "server"):
            if not persona:
                raise UserFacing("Say which `persona` it is for.")
            found = await self._troupe.personas.find(place.space_id, persona)
            return Owner(place.space_id, persona_id=found.id), found.name
        if scope == "scene":
            view = await self._troupe.scenes.current(place.id)
            if view is None:
                raise UserFacing(NO_SCENE)
            return Owner(place.space_id, scene_id=view.scene.id), view.scene.name
        return Owner(place.space_id), "server" if place.guild_id else "here"

    @edit.autocomplete("entry")
    async def _complete_entry(self, interaction: Asked, current: str) -> Choices:
        listed = await in_time(self._troupe.lore.all(here(interaction).space_id))
        return matching(((f"{one.ref} · {one.entry.title}", one.ref) for one in listed or ()), current)

    @remove.autocomplete("entry")
    async def _complete_removed(self, interaction: Asked, current: str) -> Choices:
        listed = await in_time(self._troupe.lore.all(here(interaction).space_id)) or []
        books = dict.fromkeys(one.row.book for one in listed if one.row and one.row.book)
        pairs = [(f"{one.ref} · {one.entry.title}", one.ref) for one in listed]
        pairs += [(f"the whole book “{book}”", f"book:{book}") for book in books]
        return matching(pairs, current)

    @add.autocomplete("persona")
    @import_book.autocomplete("persona")
    @export.autocomplete("persona")
    @explain.autocomplete("persona")
    async def _complete_persona(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


def _options(**given: Any) -> dict[str, Any]:
    """The words of lorebook V3 for what was given."""
    entry: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for word, key in (("enabled", "enabled"), ("constant", "constant"), ("order", "insertion_order")):
        if given.get(word) is not None:
            entry[key] = given[word]
    for word in ("case_sensitive", "scan_depth"):
        if given.get(word) is not None:
            more[word] = given[word]
    if given.get("whole_words") is not None:
        more["match_whole_words"] = given["whole_words"]
    if given.get("logic") is not None:
        more["selectiveLogic"] = _LOGIC_NUMBERS[given["logic"]]
    if given.get("position") is not None:
        more["position"] = _POSITION_NUMBERS[given["position"]]
        entry["position"] = "after_char" if given["position"] == "after" else "before_char"
    if given.get("chance") is not None:
        more |= {"probability": given["chance"], "useProbability": True}
    if given.get("recursion") is not None:
        more |= {"exclude_recursion": not given["recursion"], "prevent_recursion": not given["recursion"]}
    return {**entry, "extensions": more} if more else entry


def _line(entry: LoreEntry) -> str:
    marks = ["off"] if not entry.enabled else []
    marks += ["constant"] if entry.constant else []
    marks += [f"{entry.probability:g}%"] if entry.probability < 100 else []
    marks += [str(entry.position)] if entry.position is not Position.BEFORE else []
    keys = f" · {shorten(', '.join(entry.keys), 80)}" if entry.keys else ""
    told = f" ({', '.join(marks)})" if marks else ""
    return f"`{entry.ref}` **{shorten(entry.name, 60) or '…'}**{told}{keys} · {shorten(entry.content, 100)}"


def _whose(one: Listed) -> str:
    if one.row is None:
        return " · in the card"
    if one.persona is not None:
        return f" · for {one.persona.name}"
    return " · for one scene" if one.row.scene_id else ""


def _explained(mark: str, verdict: Verdict) -> str:
    return f"{mark} `{verdict.entry.ref}` {shorten(verdict.entry.title, 60)}: {shorten(verdict.why, 200)}"


def _entries(number: int) -> str:
    return counted(number, "entry", "entries")
