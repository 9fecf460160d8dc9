"""What `/privacy` says: in plain words, and nothing that is not so."""

from __future__ import annotations

from typing import Final

from bot.core.privacy import Owned
from cogs.answers import counted

ABOUT: Final = """\
**What I keep**: what is said in a channel while a scene is active and not paused – your messages, the name \
you spoke under, your Discord id, the time – and what is made of it: notes, facts about who did what, sample \
lines of personas, numbers for finding it again. Your aliases, and how many tokens answers to you used. \
Nothing of other channels, no list of members, no pictures that you post, no voice.
**Where**: on the machine of whoever runs this bot, in one folder. Nowhere else, and no telemetry.
**Who sees it**: personas use it where it was said. Moderators and game masters here can search it and read \
the notes; other members cannot. The owner of the bot can read its files.
**What leaves the machine**: for an answer, and for notes after every ten messages or so, the newest \
messages, notes and some memories go to the language model that the owner chose, with the names you speak \
under, never your Discord id. Only if the owner chose a server for search too, what is remembered or \
searched for goes there to be turned into numbers.
**For how long**: until it is deleted – by you, by a moderator, by the server's setting `retention_days`, or \
some days after I am removed from the server (`grace_days`).
**What you can do**, in any server or in a direct message to me:
- Edit or delete a message: my memory follows at once, the bytes are gone within a day.
- `/privacy export` – everything about you as a file.
- `/privacy opt-out` – I still answer you, and write down nothing of what you say, anywhere.
- `/privacy forget-me` – everything of yours is erased, down to the last byte, before I say so.
-# Apps such as PluralKit post in their own name: I cannot tell who wrote, an opt-out does not reach them."""

NOTHING: Final = "I keep nothing about you."
FORGET_HINT: Final = (
    "-# Erased for good, in every server and in our direct messages. Messages in Discord stay: delete them "
    "there. If you opted out, you stay opted out; if not, I remember what you say in scenes from then on."
)
FORGOTTEN: Final = (
    "Done. Nothing of it is left: not in memory, not in the database, not in the search index, not in a log. "
    "Backups that the bot's owner made earlier may still hold it; it is erased again if one is ever put back."
)
OPTED_OUT: Final = (
    "You are opted out. From now on I write down nothing of what you say, in any server. Personas still "
    "answer you, and forget it. What I kept until now stays until `/privacy forget-me`. `/privacy opt-in` "
    "takes it back."
)
OPTED_OUT_ALREADY: Final = "You are opted out already: I write down nothing of what you say."
OPTED_IN: Final = "You are remembered again from now on, in scenes only. `/privacy opt-out` takes it back."
OPTED_IN_ALREADY: Final = "You did not opt out: what you say in scenes is remembered."
EXPORTED: Final = "Everything that I keep about you. It is yours; the file is shown to you alone."
ALIAS_NEEDS_MEMORY: Final = (
    "You opted out, and an alias would be written down. `/privacy opt-in` first, or use your own name."
)


def what_goes(owned: Owned) -> str:
    """What will be erased, counted."""
    lines = [
        (owned.turns, "message", "messages", " you wrote"),
        (owned.replies, "answer", "answers", " of personas to you"),
        (owned.aliases, "alias", "aliases", ""),
        (owned.memories, "fact or memory", "facts and memories", " from you or naming you"),
        (owned.notes, "line of notes", "lines of notes", ", old versions included"),
        (owned.samples, "sample line", "sample lines", " of personas"),
        (owned.usage, "count", "counts", " of what answers to you used (the sums stay, without you)"),
    ]
    listed = "\n".join(f"- {counted(number, one, many)}{rest}" for number, one, many, rest in lines if number)
    places = len(owned.space_ids)
    where = f"in {places:,} servers and direct messages" if places != 1 else "in one server or direct message"
    return (
        f"This will be erased, {where}:\n{listed or '- what is left of your names'}\n"
        f"Your name is taken out of what others said. What is in the making is given up.\n{FORGET_HINT}"
    )
