"""The slash commands of the console: the words of Discord's, for one member who may do everything."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from bot.console_messenger import MessageIds
from bot.core import mood as moods
from bot.core.emotion_names import EMOTIONS
from bot.core.types import Place, Scene
from bot.engine.scenes import SceneView
from bot.engine.troupe import MoodView, Troupe
from bot.errors import UserFacing
from bot.terminal import Screen

MEMBER_ID: Final = 1
"""The owner id of who sits at the terminal."""
HELP: Final = """\
  /persona [NAME]                      who there is; talk to another one
  /scene                               where we are, who is here
  /scene start NAME [location: …] [situation: …] [story: …] [persona: …]
  /scene set [location: …] [situation: …] [time: …]
  /scene list | switch NAME | pause | resume | end
  /scene cast add NAME | cast remove NAME
  /alias NAME | /alias clear | /alias list      speak under another name
  /memory search WORDS                 what is remembered of that
  /memory scratchpad                   the notes of this scene
  /memory forget NUMBER                forget one memory (search shows the numbers)
  /mood [NAME]                         how a persona feels
  /help, /quit
Everything else is said in the scene. ((Words in double brackets)) are out of character: no answer."""
_KEYS: Final = re.compile(r"(?:^|\s)(name|location|situation|time|story|persona)\s*[:=]\s*", re.IGNORECASE)

Action = Callable[[str], Awaitable[None]]


def parsed(text: str) -> dict[str, str]:
    """`The feast location: the inn` as {"name": "The feast", "location": "the inn"}."""
    pieces = _KEYS.split(text)
    found = {"name": pieces[0].strip()} if pieces[0].strip() else {}
    for key, value in zip(pieces[1::2], pieces[2::2], strict=True):
        found[key.lower()] = value.strip()
    return found


class Commands:
    """Runs one command line at a time. Wrong requests are `UserFacing`, with what to do next."""

    def __init__(
        self, *, troupe: Troupe, place: Place, screen: Screen, ids: MessageIds, talk_to: Action
    ) -> None:
        self._troupe = troupe
        self._place = place
        self._screen = screen
        self._ids = ids
        self._actions: Mapping[str, Action] = {
            "/persona": self._persona(talk_to),
            "/scene": self._scene,
            "/alias": self._alias,
            "/memory": self._memory,
            "/mood": self._mood,
            "/help": self._help,
        }

    async def run(self, line: str) -> None:
        """Do what a line that begins with `/` asks for."""
        word, _, rest = line.strip().partition(" ")
        action = self._actions.get(word.lower())
        if action is None:
            near = difflib.get_close_matches(word.lower(), self._actions, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else "`/help` shows the commands."
            raise UserFacing(f"There is no command `{word}`. {hint}")
        await action(rest.strip())

    async def _help(self, rest: str) -> None:
        self._screen.line(HELP)

    def _persona(self, talk_to: Action) -> Action:
        async def act(name: str) -> None:
            if name:
                await talk_to(name)
                return
            for persona in await self._troupe.personas.all(self._place.space_id):
                self._screen.line(f"  {persona.name}")

        return act

    # ------------------------------------------------------------ scenes
    async def _scene(self, rest: str) -> None:
        word, _, rest = rest.partition(" ")
        rest, scenes, place = rest.strip(), self._troupe.scenes, self._place
        match word.lower():
            case "" | "show":
                await self._show_scene()
            case "list":
                for scene in await scenes.list(place.id):
                    self._screen.line(f"  {scene.name}{_state(scene)}")
            case "start":
                await self._start(parsed(rest))
            case "set":
                await self._set(parsed(rest))
            case "switch":
                await scenes.switch(place, (await self._named_scene(rest)).id)
            case "pause":
                self._screen.line(f"“{(await scenes.pause(place)).name}” is paused: nothing is remembered.")
            case "resume":
                scene = await scenes.resume(place, after=self._ids.next())
                self._screen.line(f"“{scene.name}” goes on.")
            case "end":
                self._screen.line(
                    f"“{(await scenes.end(place)).name}” has ended. `/scene switch` opens it again."
                )
            case "cast":
                await self._cast(rest)
            case _:
                raise UserFacing("`/scene` takes start, set, list, switch, show, pause, resume, end or cast.")

    async def _show_scene(self) -> None:
        view = await self._troupe.scenes.current(self._place.id)
        if view is None:
            raise UserFacing("There is no active scene. `/scene start NAME` begins one.")
        for line in scene_lines(view):
            self._screen.line(line)

    async def _start(self, given: Mapping[str, str]) -> None:
        who = given.get("persona")
        persona = await self._troupe.personas.find(self._place.space_id, who) if who else None
        started = await self._troupe.scenes.start(
            self._place,
            name=given.get("name", ""),
            persona_id=persona.id if persona else await self._present(),
            location=given.get("location", ""),
            situation=given.get("situation", ""),
            story=given.get("story"),
            after=self._ids.next(),
        )
        self._screen.line(f"“{started.scene.name}” begins.{f' {started.hint}' if started.hint else ''}")

    async def _present(self) -> int | None:
        """The persona one talks to now; it comes along into a new scene."""
        view = await self._troupe.scenes.current(self._place.id)
        return view.cast[0].id if view and view.cast else None

    async def _set(self, given: Mapping[str, str]) -> None:
        scene = await self._troupe.scenes.set(
            self._place,
            location=given.get("location"),
            situation=given.get("situation"),
            time=given.get("time"),
        )
        self._screen.line(f"“{scene.name}” is changed.")

    async def _named_scene(self, name: str) -> Scene:
        scenes = await self._troupe.scenes.list(self._place.id)
        found = next((scene for scene in scenes if scene.name.casefold() == name.casefold()), None)
        if found is None:
            names = ", ".join(scene.name for scene in scenes)
            raise UserFacing(f"There is no scene “{name}”. There are: {names or 'none yet'}.")
        return found

    async def _cast(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        if word not in {"add", "remove"}:
            raise UserFacing("`/scene cast add NAME` or `/scene cast remove NAME`.")
        persona = await self._troupe.personas.find(self._place.space_id, name.strip())
        if word == "add":
            await self._troupe.scenes.cast_add(self._place, persona.id)
            self._screen.line(f"{persona.name} joins.")
        else:
            await self._troupe.scenes.cast_remove(self._place, persona.id)
            self._screen.line(f"{persona.name} leaves.")

    # ------------------------------------------------------------ the member
    async def _alias(self, rest: str) -> None:
        aliases = self._troupe.aliases
        if rest in {"", "list"}:
            for alias in await aliases.list(self._place.id):
                self._screen.line(f"  {alias.name}")
        elif rest == "clear":
            cleared = await aliases.clear(self._place, MEMBER_ID)
            self._screen.line("You speak under your own name again." if cleared else "You had no alias.")
        else:
            name = _plain(rest.removeprefix("use "), "name")
            alias = await aliases.use(self._place, MEMBER_ID, name, present_names=())
            self._screen.line(f"You speak as {alias.name} now.")

    # ------------------------------------------------------------ memory and mood
    async def _memory(self, rest: str) -> None:
        word, _, rest = rest.partition(" ")
        match word.lower():
            case "search":
                await self._search(_plain(rest, "query"))
            case "scratchpad":
                await self._scratchpad()
            case "forget" if rest.strip().isdigit():
                await self._troupe.memories.forget(self._place, int(rest), by=MEMBER_ID, moderator=True)
                self._screen.line("Forgotten.")
            case _:
                raise UserFacing("`/memory search WORDS`, `/memory scratchpad` or `/memory forget NUMBER`.")

    async def _search(self, query: str) -> None:
        found = await self._troupe.memories.search(self._place, query)
        if not found:
            self._screen.line("Nothing is remembered of that.")
        for item in found:
            speaker = f"{item.memory.speaker}: " if item.memory.speaker else ""
            self._screen.line(f"  {item.memory.id:>4}  {item.when} · {speaker}{item.memory.text}")

    async def _scratchpad(self) -> None:
        notes = await self._troupe.memories.scratchpad(self._place.id)
        if not notes.lines:
            self._screen.line("No notes yet: they are written after about ten lines.")
        section = ""
        for line in notes.lines:
            if line.section != section:
                section = line.section
                self._screen.line(f"  {section}")
            self._screen.line(f"    {line.text}")

    async def _mood(self, rest: str) -> None:
        name = _plain(re.sub(r"^show(\s+|$)", "", rest), "persona")
        persona = await self._troupe.personas.find(self._place.space_id, name) if name else None
        for view in await self._troupe.mood(self._place, persona.id if persona else None):
            self._screen.line(mood_line(view))


def _plain(text: str, key: str) -> str:
    """The one argument of a command, also where it is written as in Discord: `key: text`."""
    return re.sub(rf"^{key}\s*[:=]\s*", "", text.strip(), flags=re.IGNORECASE)


def scene_lines(view: SceneView) -> list[str]:
    """A scene in a few lines."""
    scene = view.scene
    facts = {
        "where": scene.location,
        "what": scene.situation,
        "when": scene.story_time,
        "here": ", ".join(persona.name for persona in view.cast),
        "aliases": ", ".join(alias.name for alias in view.aliases),
    }
    waiting = f"  {view.uncovered} lines are not in the notes yet" if view.uncovered else ""
    lines = [
        f"“{scene.name}”{_state(scene)}",
        *(f"  {key}: {value}" for key, value in facts.items() if value),
    ]
    return [*lines, waiting] if waiting else lines


def mood_line(view: MoodView) -> str:
    """A mood in words and numbers."""
    numbers = moods.current(view.mood)
    shown = ", ".join(f"{name} {number:.1f}" for name, number in zip(EMOTIONS, numbers, strict=True))
    return f"{view.persona.name}: {view.words} ({shown})"


def _state(scene: Scene) -> str:
    if not scene.active:
        return ""
    return " (paused)" if scene.paused else " (now)"
