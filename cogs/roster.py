"""Makes every cog with exactly what it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from discord.ext import commands

from bot.core.pictures import DrawDays, DrawTimeline, DrawWheels
from bot.core.types import Place
from cogs.alias import Aliases
from cogs.chat import NO_CONTENT, Chat
from cogs.door import Identity
from cogs.greetings import TakeBack
from cogs.help import Help
from cogs.lore import Lore
from cogs.memory import Memories
from cogs.mood import Moods
from cogs.persona import ForgetPicture, Personas, PreparePicture
from cogs.persona_files import CardFiles
from cogs.persona_library import Library
from cogs.presence import PresentNames
from cogs.privacy import Privacy
from cogs.scene import Announce, Scenes
from cogs.settings import Settings
from cogs.usage import Usage

if TYPE_CHECKING:
    from bot.engine.troupe import Troupe


def make_cogs(
    *,
    troupe: Troupe,
    identity: Callable[[], Identity],
    announce: Announce,
    speaking_trouble: Callable[[Place], Awaitable[str | None]],
    take_back: TakeBack,
    draw_wheels: DrawWheels,
    draw_timeline: DrawTimeline,
    draw_days: DrawDays,
    prepare_picture: PreparePicture,
    forget_picture: ForgetPicture,
    card_files: CardFiles,
    library: Library,
) -> list[commands.Cog]:
    """All cogs, not yet added to a client."""
    present = PresentNames()
    troupe.privacy.on_forgotten(present.forget)
    chat = Chat(troupe=troupe, identity=identity, present=present)
    return [
        chat,
        Personas(
            troupe=troupe,
            prepare_picture=prepare_picture,
            forget_picture=forget_picture,
            announce=announce,
            files=card_files,
            library=library,
        ),
        Scenes(troupe=troupe, announce=announce, speaking_trouble=speaking_trouble, take_back=take_back),
        Aliases(troupe=troupe, present=present),
        Memories(troupe=troupe, draw=draw_timeline),
        Lore(troupe=troupe, files=card_files),
        Moods(troupe=troupe, draw=draw_wheels),
        Usage(troupe=troupe, draw=draw_days),
        Privacy(troupe=troupe),
        Settings(
            troupe=troupe,
            warnings=lambda: (NO_CONTENT,) if chat.text_is_missing else (),
            speaking_trouble=speaking_trouble,
        ),
        Help(),
    ]
