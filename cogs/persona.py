"""/persona: create, edit, list, show and delete the characters that the bot plays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Literal

import discord
from discord import app_commands, ui
from discord.ext import commands

from bot.core.cards import TEMPERAMENTS
from bot.core.types import Persona
from bot.engine.audit import change
from cogs.answers import Asked, Buttons, say, shorten, think
from cogs.approval import ask_moderators
from cogs.audit import note
from cogs.card_form import (
    CHARACTER_PAGE,
    LISTS_PAGE,
    MAIN_PAGE,
    MORE_PAGE,
    PAGES,
    RECALL_PAGE,
    Field,
    Texts,
    changes,
    open_form,
    typed_own_value,
    typed_value,
    value_of,
)
from cogs.confirm import Confirm
from cogs.names import Choices, here, persona_choices
from cogs.permissions import Right, moderators_by_default, require, right_of
from cogs.persona_character import SuggestCharacter, offer_character
from cogs.persona_draft import DraftOffer, told
from cogs.persona_files import CardFiles, PersonaFileCommands
from cogs.persona_history import PersonaHistoryCommands
from cogs.persona_library import Library, PersonaLibraryCommands
from cogs.persona_past import PersonaPastCommands
from cogs.persona_style import PersonaStyleCommands
from cogs.persona_trust import PersonaTrustCommands
from cogs.uploads import read_file

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe
    from cogs.scene import Announce

VOICE_FIELDS: Final = frozenset({"description", "personality", "greeting", "examples"})
"""A change of these may make the replies that are replayed as style samples wrong."""

PreparePicture = Callable[[bytes], Awaitable[bytes]]
ForgetPicture = Callable[[int], Awaitable[None]]


@app_commands.default_permissions(moderators_by_default())
class Personas(
    PersonaFileCommands,
    PersonaHistoryCommands,
    PersonaLibraryCommands,
    PersonaPastCommands,
    PersonaStyleCommands,
    PersonaTrustCommands,
    commands.GroupCog,
    name="persona",
    description="The characters I play",
):
    """Thin: forms and words; the engine keeps the personas."""

    def __init__(
        self,
        *,
        troupe: Troupe,
        prepare_picture: PreparePicture,
        forget_picture: ForgetPicture,
        announce: Announce,
        files: CardFiles,
        library: Library,
    ) -> None:
        super().__init__()
        self._troupe = troupe
        self._announce = announce
        self._files = files
        self._library = library
        self._prepare_picture = prepare_picture
        self._forget_picture = forget_picture

    # ------------------------------------------------------------ create and edit
    @app_commands.command(description="Make a new persona: a form opens, filled from an idea if you give one")
    @app_commands.describe(idea="A few words; the language model writes a draft for you to edit")
    async def create(self, interaction: Asked, idea: app_commands.Range[str, 3, 2000] | None = None) -> None:
        """A form with the five texts of a character, at once or after a draft."""
        place = here(interaction)
        space_id = place.space_id

        async def submit(answer: Asked, typed: Texts) -> None:
            moderator = await right_of(answer, self._troupe.options) >= Right.MODERATOR
            await require(answer, self._troupe.options, "persona create")
            persona = await self._troupe.personas.create(
                space_id, **typed, by=answer.user.id, approved=moderator
            )
            await note(self._troupe, answer, "persona create", persona.name)
            if not moderator:
                asked = await ask_moderators(self._troupe, answer, persona, self._announce)
                await say(answer, f"**{persona.name}** waits for approval. {asked}")
                return
            await say(
                answer,
                f"**{persona.name}** is ready. Next: `/scene start` in a channel. "
                "A picture: `/persona edit` with `avatar`.",
                view=SuggestCharacter(troupe=self._troupe, persona=persona, save=self._change_texts),
            )

        if idea is None:
            await open_form(interaction, title="New persona", fields=MAIN_PAGE, values={}, submit=submit)
            return
        await think(interaction)
        draft = await self._troupe.drafts.draft(place, idea)
        await say(interaction, told(draft), view=DraftOffer(draft=draft, submit=submit))

    @app_commands.command(description="Change what a persona is and how it recalls in a form, or its picture")
    @app_commands.describe(
        persona="Which one",
        avatar="A new picture; no form opens then",
        page="main: texts. character: what it lives by. recall: how it remembers. more, lists: the rest",
        suggest="Let the language model suggest what it lives by; you look at it before it is saved",
    )
    async def edit(
        self,
        interaction: Asked,
        persona: str,
        avatar: discord.Attachment | None = None,
        page: Literal["main", "more", "lists", "character", "recall"] = "main",
        suggest: bool = False,
    ) -> None:
        """The present values in a form; texts over 4,000 characters as files."""
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        if avatar is not None:
            await self._change_picture(interaction, found, avatar)
            return
        if suggest:
            await offer_character(interaction, self._troupe, found, save=self._change_texts)
            return
        fields = PAGES[page]
        values = {field.word: value_of(found, field) for field in fields}

        async def submit(answer: Asked, typed: Texts) -> None:
            await self._change_texts(answer, found, fields, changes(values, typed))

        title = shorten(f"Edit {found.name}", 45)
        await open_form(interaction, title=title, fields=fields, values=values, submit=submit)

    async def _change_texts(
        self, interaction: Asked, persona: Persona, fields: tuple[Field, ...], changed: Texts
    ) -> None:
        if not changed:
            await say(interaction, f"Nothing changed: **{persona.name}** stays as it is.")
            return
        typed = [field for field in fields if field.word in changed]
        keys: dict[str, Any] = {
            field.key: typed_value(field, changed[field.word]) for field in typed if not field.own
        }
        own = {field.key: typed_own_value(field, changed[field.word]) for field in typed if field.own}
        if own:
            keys["own"] = own
        if "temperament" in keys:
            keys["temperament"] = TEMPERAMENTS[keys["temperament"]]
        edited = await self._troupe.personas.edit(persona.id, **keys)
        parts = [
            f"{field.word} {change(value_of(persona, field), changed[field.word])}"
            for field in fields
            if field.word in changed
        ]
        await note(self._troupe, interaction, "persona edit", f"{persona.name}: {', '.join(parts)}")
        told = f"**{edited.name}** is changed: {', '.join(changed)}."
        if not VOICE_FIELDS & set(changed) or not await self._troupe.personas.samples(persona.id):
            await say(interaction, told)
            return
        await say(
            interaction,
            f"{told}\nIts first good replies keep its voice as samples. If they no longer fit, renew them.",
            view=RenewSamples(troupe=self._troupe, persona=persona),
        )

    async def _change_picture(self, interaction: Asked, persona: Persona, avatar: discord.Attachment) -> None:
        await think(interaction)
        picture = await self._prepare_picture(await read_file(avatar))
        edited = await self._troupe.personas.edit(persona.id, avatar=picture)
        await note(self._troupe, interaction, "persona edit", f"{edited.name}: a new picture")
        await say(interaction, f"**{edited.name}** has a new picture.")

    # ------------------------------------------------------------ see
    @app_commands.command(name="list", description="All personas of this server")
    async def list_all(self, interaction: Asked) -> None:
        """One line each."""
        await think(interaction)
        personas = await self._troupe.personas.all(here(interaction).space_id)
        if not personas:
            await say(interaction, "There is no persona yet. A moderator makes one with `/persona create`.")
            return
        lines = [f"**{one.name}** – {shorten(one.text('description'), 120) or '…'}" for one in personas]
        await say(interaction, "\n".join(lines))

    @app_commands.command(description="Everything about one persona")
    @app_commands.describe(persona="Which one")
    async def show(self, interaction: Asked, persona: str) -> None:
        """All texts, whole."""
        await think(interaction)
        found = await self._troupe.personas.find(here(interaction).space_id, persona)
        parts = [f"# {found.name}"]
        if found.former_names:
            parts.append(f"*formerly {', '.join(found.former_names)}*")
        for field in (*MAIN_PAGE[1:], *MORE_PAGE, *CHARACTER_PAGE, *LISTS_PAGE, *RECALL_PAGE):
            if text := value_of(found, field).strip():
                parts.append(f"**{field.label}**\n{text}")
        await say(interaction, "\n".join(parts))

    # ------------------------------------------------------------ delete
    @app_commands.command(description="Remove a persona; asks before")
    @app_commands.describe(persona="Which one")
    async def delete(self, interaction: Asked, persona: str) -> None:
        """Asks with a button first."""
        found = await self._troupe.personas.find(here(interaction).space_id, persona)

        async def confirmed(answer: Asked) -> str:
            await self._troupe.personas.delete(found.id)
            await self._forget_picture(found.id)
            await note(self._troupe, answer, "persona delete", found.name)
            return f"**{found.name}** is deleted and has left every scene."

        await say(
            interaction,
            f"Delete **{found.name}**? It leaves every scene; what it said stays in them. "
            "This cannot be undone.",
            view=Confirm(label="Delete", action=confirmed),
        )

    @edit.autocomplete("persona")
    @show.autocomplete("persona")
    @delete.autocomplete("persona")
    async def _complete_persona(self, interaction: Asked, current: str) -> Choices:
        return await persona_choices(self._troupe, interaction, current)


class RenewSamples(Buttons):
    """Offered after a persona's description changed."""

    def __init__(self, *, troupe: Troupe, persona: Persona) -> None:
        super().__init__()
        self._troupe, self._persona = troupe, persona

    @ui.button(label="Renew the samples", style=discord.ButtonStyle.secondary)
    async def renew(self, interaction: Asked, _: ui.Button[RenewSamples]) -> None:
        """The next good replies take their place."""
        self.stop()
        await interaction.response.defer()
        await self._troupe.personas.renew_samples(self._persona.id)
        await note(self._troupe, interaction, "persona edit", f"{self._persona.name}: new style samples")
        await interaction.edit_original_response(
            content="The next good replies become its samples.", view=None
        )
