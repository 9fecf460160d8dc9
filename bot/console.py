"""A persona in a terminal, through the same engine as in Discord; scriptable when input is no terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.app import App, open_app
from bot.bundled_personas import BundledPersona, bundled_personas
from bot.console_commands import MEMBER_ID, Commands
from bot.console_messenger import ConsoleMessenger, MessageIds
from bot.core.events import MessagePosted
from bot.core.types import Persona, Place, Turn
from bot.engine.state import PlaceState
from bot.engine.troupe import Troupe
from bot.errors import SettingsError, UserFacing
from bot.settings import Settings
from bot.terminal import Lines, Screen, restored_terminal, standard_input

PLACE: Final = Place(id=1, guild_id=0, name="console")
RECENT: Final = 6
"""Lines of the last time that are shown when a scene goes on."""
_POLL_S: Final = 0.05
_LATE_S: Final = 0.5
"""How long after the engine is at rest a notice or a greeting may still be on its way."""
_NO_INPUT: Final = (
    "There is no input to read and DISCORD_TOKEN is not set: set DISCORD_TOKEN (in .env) to run the "
    "Discord bot, for example DISCORD_TOKEN=your-bot-token, or start this in a terminal to talk to a persona"
)
_OPTIONS: Final = {"reply_mode": "always", "member_cooldown_s": "0"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Who talks to whom; kept for the next start."""

    persona: str = ""
    name: str = ""

    @classmethod
    def load(cls, file: Path) -> Choice:
        """The last choice; empty when there is none."""
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            return cls(persona=str(stored["persona"]), name=str(stored["name"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def save(self, file: Path) -> None:
        """Keep it."""
        file.write_text(json.dumps(asdict(self), ensure_ascii=False), encoding="utf-8")


class Console:
    """One run of the console. `persona` and `name` answer its two questions beforehand."""

    def __init__(
        self,
        *,
        settings: Settings,
        persona: str | None = None,
        name: str | None = None,
        lines: Lines | None = None,
    ) -> None:
        self._folder = settings.console_dir
        self._settings = settings.model_copy(update={"data_dir": self._folder})
        self._asked = Choice(persona=persona or "", name=name or "")
        self._lines = lines or standard_input()
        self._screen = Screen(out=sys.stdout, interactive=self._lines.interactive and sys.stdout.isatty())
        self._ids = MessageIds(now=_now)
        self._messenger = ConsoleMessenger(screen=self._screen, ids=self._ids)

    async def run(self) -> int:
        """Talk until `/quit` or the end of input. SettingsError when there is no input at all."""
        first = None if self._lines.interactive else await self._lines.read("")
        if first is None and not self._lines.interactive:
            raise SettingsError(_NO_INPUT)
        with restored_terminal():
            try:
                choice = await self._choose(bundled_personas())
                if choice is not None:
                    await self._talk(choice, first)
            finally:
                if self._screen.interactive:
                    self._screen.line()  # the shell's prompt gets a line of its own
        return 0

    # ------------------------------------------------------------ the two questions
    async def _choose(self, offered: Sequence[BundledPersona]) -> Choice | None:
        """Ask for what is not known; None when input ends."""
        last = Choice.load(self._folder / "console.json")
        persona = self._asked.persona or (
            None if self._lines.interactive else last.persona or offered[0].name
        )
        if persona is None:
            persona = await self._ask_persona(offered, last.persona or offered[0].name)
        name = self._asked.name or (None if self._lines.interactive else last.name or "You")
        if name is None and persona is not None:
            default = last.name or "Traveller"
            answer = await self._lines.read(f"Your name [{default}]: ")
            name = None if answer is None else answer.strip() or default
        return None if persona is None or name is None else Choice(persona=persona, name=name[:80])

    async def _ask_persona(self, offered: Sequence[BundledPersona], default: str) -> str | None:
        self._screen.line("Whom do you want to talk to?")
        for number, persona in enumerate(offered, start=1):
            self._screen.line(f"  {number}  {persona.name}: {persona.tagline}")
        while (answer := await self._lines.read(f"Number or name [{default}]: ")) is not None:
            wanted = answer.strip() or default
            if wanted.isdigit() and 1 <= int(wanted) <= len(offered):
                return offered[int(wanted) - 1].name
            found = [p.name for p in offered if p.name.casefold().startswith(wanted.casefold())]
            if found or wanted == default:
                return found[0] if found else default
            self._screen.line("Nobody of that name is here.")
        return None

    # ------------------------------------------------------------ talking
    async def _talk(self, choice: Choice, first: str | None) -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with self._screen.waiting("The models are loading"):
                app = await stack.enter_async_context(self._open())
                await self._prepare(app.troupe)
            session = _Session(
                troupe=app.troupe,
                choice=choice,
                file=self._folder / "console.json",
                screen=self._screen,
                messenger=self._messenger,
                ids=self._ids,
            )
            await session.enter(choice.persona)
            if self._screen.interactive:
                self._screen.line("(/help shows the commands, /quit ends)")
            line = first if first is not None else await self._lines.read(session.prompt)
            while line is not None and line.strip().lower() not in {"/quit", "/exit"}:
                await session.take(line.strip())
                line = await self._lines.read(session.prompt)

    def _open(self) -> AbstractAsyncContextManager[App]:
        return open_app(
            self._settings, lambda: self._messenger, console=True, on_stream=self._messenger.stream
        )

    async def _prepare(self, troupe: Troupe) -> None:
        known = {persona.name for persona in await troupe.personas.all(PLACE.space_id)}
        for bundled in bundled_personas():
            if bundled.name not in known:
                await troupe.personas.add(PLACE.space_id, bundled.card, by=MEMBER_ID)
        for key, value in _OPTIONS.items():
            await troupe.options.set(PLACE.space_id, 0, key, value)
        await troupe.start()


class _Session:
    """A conversation that goes on: lines in, answers awaited."""

    def __init__(
        self,
        *,
        troupe: Troupe,
        choice: Choice,
        file: Path,
        screen: Screen,
        messenger: ConsoleMessenger,
        ids: MessageIds,
    ) -> None:
        self._troupe = troupe
        self._choice = choice
        self._file = file
        self._screen = screen
        self._messenger = messenger
        self._ids = ids
        self._commands = Commands(troupe=troupe, place=PLACE, screen=screen, ids=ids, talk_to=self.enter)

    @property
    def prompt(self) -> str:
        """What stands before the line that is being typed."""
        return f"{self._choice.name}: "

    async def enter(self, name: str) -> None:
        """Go on with a persona where it was left, or begin with its greeting."""
        persona = await self._troupe.personas.find(PLACE.space_id, name)
        self._choice = Choice(persona=persona.name, name=self._choice.name)
        self._choice.save(self._file)
        current = await self._troupe.scenes.current(PLACE.id)
        if current is not None and persona.id in current.scene.cast:
            await self._show_recent()
            return
        scenes = await self._troupe.scenes.list(PLACE.id)
        former = next((scene for scene in scenes if persona.id in scene.cast), None)
        if former is not None:
            await self._troupe.scenes.switch(PLACE, former.id)
            await self._show_recent()
            return
        await self._begin(persona)

    async def _begin(self, persona: Persona) -> None:
        await self._troupe.scenes.start(
            PLACE,
            name=f"With {persona.name}",
            persona_id=persona.id,
            story=persona.name,
            after=self._ids.next(),
        )
        await self._settled()

    async def _show_recent(self) -> None:
        for turn in await self._troupe.places.do(PLACE, _recent):
            self._screen.line(f"{turn.speaker}: {turn.text}")

    async def take(self, line: str) -> None:
        """Do what a line asks for, or say it and wait for the answer."""
        if not line:
            return
        if line.startswith("/") and not line.startswith("//"):
            try:
                await self._commands.run(line)
            except UserFacing as problem:
                self._screen.line(f"· {problem}")
            await self._settled()
            return
        async with self._screen.waiting(f"{self._choice.persona} is thinking"):
            self._troupe.hear(self._message(line))
            await self._settled()

    def _message(self, text: str) -> MessagePosted:
        return MessagePosted(
            place=PLACE,
            message_id=self._ids.next(),
            author_id=MEMBER_ID,
            author_name=self._choice.name,
            text=text,
            created_at=_now(),
            mentions_bot=True,
        )

    async def _settled(self) -> None:
        """Wait until what was said is stored and answered, or will not be."""
        await self._troupe.journal.flushed()
        while await self._troupe.places.do(PLACE, _busy):  # noqa: ASYNC110 (the place is asked, it does not tell)
            await asyncio.sleep(_POLL_S)
        await self._messenger.spoke(within=_LATE_S)


async def _busy(state: PlaceState) -> bool:
    return bool(state.pending) or state.reply is not None


async def _recent(state: PlaceState) -> list[Turn]:
    return state.window[-RECENT:]


def _now() -> datetime:
    return datetime.now(UTC)
