"""The settings that moderators change in Discord: what they mean and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bot.core.moderation import Checked, read_words
from bot.core.spending import KEYS, Measure, Scope
from bot.core.turn_taking import ReplyMode

PLURALKIT: Final = 466378653216014359
TUPPERBOX: Final = 431544605209788416
STRATEGIES: Final = (
    "balanced",
    "semantic_only",
    "combine_add",
    "combine_multiply",
    "semantic_first",
    "emotion_first",
)
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_NONE_WORDS: Final = frozenset({"none", "off", "no", "nobody", "-", "0", ""})


@dataclass(frozen=True, slots=True)
class Option:
    """One setting. `parse` reads what a moderator typed and raises ValueError with a sentence for them."""

    key: str
    default: object
    describe: str
    parse: Callable[[str], object]
    example: str
    choices: tuple[str, ...] = ()
    """What autocomplete offers; empty when anything of its kind may be typed."""
    whole_server: bool = False
    """Whether it holds for a server as a whole, and cannot be set for a channel alone."""

    def show(self, value: object) -> str:
        """Return a value the way a moderator would type it."""
        if value is None:
            return "auto"
        if isinstance(value, tuple):
            return ", ".join(str(item) for item in value) or "none"
        return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def _one_of(*choices: str) -> Callable[[str], object]:
    def parse(text: str) -> str:
        word = re.sub(r"[\s-]+", "_", text.strip().casefold())
        if word not in choices:
            raise ValueError(f"it is one of {', '.join(choices)}.")
        return word

    return parse


def _number(text: str, lowest: float, highest: float) -> float:
    plain = text.strip().replace("_", "").replace("'", "")
    if not _NUMBER.fullmatch(plain):
        raise ValueError(f"it is a number from {lowest:.12g} to {highest:.12g}.")
    value = float(plain.replace(",", "."))
    if not lowest <= value <= highest:
        raise ValueError(f"it is a number from {lowest:.12g} to {highest:.12g}.")
    return value


def _decimal(lowest: float, highest: float) -> Callable[[str], object]:
    return lambda text: _number(text, lowest, highest)


def _whole(lowest: int, highest: int) -> Callable[[str], object]:
    def parse(text: str) -> int:
        value = _number(text, lowest, highest)
        if value != int(value):
            raise ValueError("it is a whole number.")
        return int(value)

    return parse


def _whole_or_auto(lowest: int, highest: int) -> Callable[[str], object]:
    parse = _whole(lowest, highest)
    return lambda text: None if text.strip().casefold() == "auto" else parse(text)


def _line(longest: int) -> Callable[[str], object]:
    """One line of text; "none" is no text. Line breaks and other control characters become spaces."""

    def parse(text: str) -> str:
        plain = " ".join("".join(" " if ord(c) < 32 else c for c in text).split())
        if len(plain) > longest:
            raise ValueError(f"it has at most {longest} characters.")
        return "" if plain.casefold() in _NONE_WORDS else plain

    return parse


def _ids(text: str) -> tuple[int, ...]:
    """Read roles or apps as mentions or numbers, in any separation; "none" is no one."""
    if text.strip().casefold() in _NONE_WORDS:
        return ()
    plain = re.sub(r"<@[&!]?(\d+)>", r" \1 ", text)
    found = [word for word in re.split(r"[\s,;]+", plain) if word]
    if not all(re.fullmatch(r"\d{15,20}", word) for word in found):
        raise ValueError("it is a list of mentions or ids of 15 to 20 digits, or none.")
    return tuple(dict.fromkeys(int(word) for word in found))


def _words(text: str) -> str:
    """A list of words; "none" is an empty one."""
    plain = ", ".join(read_words(text))
    return "" if plain.casefold() in _NONE_WORDS else plain


def _channel(text: str) -> int:
    """A channel as a mention or an id; "none" is 0."""
    if text.strip().casefold() in _NONE_WORDS:
        return 0
    found = re.fullmatch(r"<#(\d{15,20})>|(\d{15,20})", text.strip())
    if found is None:
        raise ValueError("it is a channel like #moderators, its id, or none.")
    return int(found[1] or found[2])


def _limit(key: str) -> Option:
    """One of the limits of tokens or money."""
    scope, period, measure = KEYS[key]
    whose = {Scope.SPACE: "may be used here", Scope.MEMBER: "answers to one member may use"}
    what = "Tokens that" if measure is Measure.TOKENS else "Money (see .env for prices) that"
    describe = f"{what} {whose.get(scope, 'one persona may use')} in a {period.value}; 0 is no limit."
    if measure is Measure.TOKENS:
        return Option(key, 0, describe, _whole(0, 100_000_000_000), "200000")
    return Option(key, 0.0, describe, _decimal(0, 1_000_000), "2.50")


_ALL: Final = (
    Option(
        "reply_mode",
        ReplyMode.NAMED.value,
        "When personas answer: if the bot is mentioned; also if one is named or replied to; always; never.",
        _one_of(*(mode.value for mode in ReplyMode)),
        "named",
        tuple(mode.value for mode in ReplyMode),
    ),
    Option("moderator_roles", (), "Roles that may do all that moderators may.", _ids, "@Staff"),
    Option(
        "creator_roles",
        (),
        "Roles that may use /persona create; what they make waits for a moderator.",
        _ids,
        "@Writers",
    ),
    Option("gm_roles", (), "Roles of game masters, who may use /scene.", _ids, "@Storyteller"),
    Option(
        "member_cooldown_s",
        0.0,
        "Seconds before the same member is answered again.",
        _decimal(0, 86_400),
        "10",
    ),
    Option(
        "member_rate",
        20,
        "How often a member is answered in a minute, in all channels together; 0 is no limit.",
        _whole(0, 1000),
        "20",
    ),
    Option(
        "waiting_replies",
        40,
        "Replies in the making at once; who asks for more is told to wait. 0 is no limit.",
        _whole(0, 10_000),
        "40",
    ),
    *map(_limit, KEYS),
    Option(
        "tired_line",
        "",
        "What a persona says, in your own words, when a limit is used up; {{char}} is its name.",
        _line(300),
        "*{{char}} blows out the candle.* Until tomorrow, then.",
    ),
    Option(
        "recall_strategy",
        "balanced",
        "How memories are chosen: by finding score and feeling (balanced), or in one of the reference ways.",
        _one_of(*STRATEGIES),
        "balanced",
        STRATEGIES,
    ),
    Option(
        "blocked_words",
        "",
        "Words and phrases, with commas between them: who says one is not heard, what holds one is not said.",
        _words,
        "slur, another one",
    ),
    Option(
        "moderation",
        Checked.OFF.value,
        "Whose texts go to the moderation server, if the bot's owner set one: members, replies, both or off.",
        _one_of(*(checked.value for checked in Checked)),
        "both",
        tuple(checked.value for checked in Checked),
    ),
    Option(
        "moderation_failure",
        "open",
        "When the moderation server does not answer: open lets texts through, closed refuses them.",
        _one_of("open", "closed"),
        "closed",
        ("open", "closed"),
    ),
    Option(
        "asleep",
        "no",
        "Whether all personas are silent: the panic switch, `/persona sleep` and `wake`.",
        _one_of("no", "yes"),
        "yes",
        ("no", "yes"),
    ),
    Option(
        "log_channel",
        0,
        "The channel that gets one line for each action of a moderator.",
        _channel,
        "none",
        whole_server=True,
    ),
    Option("emotion_weight", 0.2, "How much feeling counts in balanced recall.", _decimal(0, 0.5), "0.2"),
    Option(
        "recall_tokens",
        None,
        "Tokens of recalled memories in a prompt; auto is a share of the context.",
        _whole_or_auto(0, 32_000),
        "600",
    ),
    Option(
        "spontaneous_turns",
        12,
        "A memory may come up with nothing asked at most once in so many turns; 0 is never.",
        _whole(0, 1000),
        "12",
    ),
    Option(
        "proxy_apps",
        (PLURALKIT, TUPPERBOX),
        "Apps whose webhook messages are members speaking (PluralKit and Tupperbox unless changed).",
        _ids,
        f"{PLURALKIT}, {TUPPERBOX}",
    ),
    Option(
        "proxy_wait",
        1.5,
        "Seconds to wait for a proxy app to replace a member's message.",
        _decimal(0, 10),
        "1.5",
    ),
    Option(
        "privacy_notice",
        "",
        "Your own words under the line that says a channel is remembered, and in /privacy about.",
        _line(500),
        "Our rules on privacy are pinned in #rules.",
    ),
    Option(
        "retention_days",
        0,
        "Days after which what was said here is deleted, with all that was made of it; 0 keeps it.",
        _whole(0, 36_500),
        "90",
        whole_server=True,
    ),
    Option(
        "grace_days",
        7,
        "Days after I am removed from this server until everything of it is deleted.",
        _whole(0, 365),
        "7",
        whole_server=True,
    ),
)

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType({option.key: option for option in _ALL})
"""Every setting by its key, in the order they are shown."""
