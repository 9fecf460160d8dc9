"""What one server does not take, and how that is learned from its refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace

from bot.adapters import chat_wordings as wordings

LEARNED_FROM = frozenset({200, 400, 404, 422, 424, 500, 501})
_GUESSED_FROM = frozenset({200, 400, 422, 424, 501})
_PARAMETERS = tuple(name for name, _ in wordings.PARAMETERS)

Body = dict[str, object]


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server needs. The default is a server that takes everything.

    system: how many system messages it takes ("many", "one", "none").
    strict_turns: user and assistant must alternate, beginning with the user.
    ends_with_user: the last message must be the user's.
    response_format: the strongest form it takes ("json_schema", "json_object", "none").
    token_limit: its name for the limit ("max_tokens", "max_completion_tokens").
    without: optional parameters it refuses.
    headless_thoughts: whether its thoughts come without an opening tag; None while unknown.
    """

    system: str = "many"
    strict_turns: bool = False
    ends_with_user: bool = False
    response_format: str = "json_schema"
    token_limit: str = "max_tokens"
    without: frozenset[str] = frozenset()
    headless_thoughts: bool | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the differences from the default, ready for JSON."""
        default = Quirks()
        found: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != getattr(default, field.name):
                found[field.name] = sorted(value) if isinstance(value, frozenset) else value
        return found

    def in_words(self) -> list[str]:
        """What the server does not do, for those who run it; what costs nothing is not told."""
        told = {
            "one": "takes one system message only",
            "none": "takes no system message, so that its rules stand in the first message",
        }
        forms = {"json_object": "gives JSON without a schema", "none": "works without response_format"}
        found = [told.get(self.system, ""), forms.get(self.response_format, "")]
        if self.strict_turns:
            found.append("takes user and assistant in turns only")
        if self.without:
            found.append(f"works without {', '.join(sorted(self.without))}")
        if self.headless_thoughts:
            found.append("does not say where its thoughts begin")
        return [one for one in found if one]

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> Quirks:
        """Return the quirks kept by `to_dict`; what is not understood counts as not known."""
        without = stored.get("without")
        names = without if isinstance(without, list | tuple) else ()
        headless = stored.get("headless_thoughts")
        return cls(
            system=_one_of(stored.get("system"), ("many", "one", "none")),
            strict_turns=stored.get("strict_turns") is True,
            ends_with_user=stored.get("ends_with_user") is True,
            response_format=_one_of(stored.get("response_format"), ("json_schema", "json_object", "none")),
            token_limit=_one_of(stored.get("token_limit"), ("max_tokens", "max_completion_tokens")),
            without=frozenset(name for name in names if name in _PARAMETERS),
            headless_thoughts=headless if isinstance(headless, bool) else None,
        )

    def with_lessons(self, before: Quirks, after: Quirks) -> Quirks:
        """Return these quirks with what changed from `before` to `after` in some call."""
        changed = {
            field.name: getattr(after, field.name)
            for field in fields(self)
            if getattr(after, field.name) != getattr(before, field.name)
        }
        return replace(self, **changed).leaving_out(self.without)

    def leaving_out(self, names: Collection[str]) -> Quirks:
        """Return these quirks with more parameters left out."""
        return replace(self, without=self.without.union(names))

    def with_thoughts(self, headless: bool | None) -> Quirks:
        """Return these quirks with what an answer showed of its thoughts; once seen headless, always."""
        if headless is None or self.headless_thoughts:
            return self
        return replace(self, headless_thoughts=headless)


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    return value if isinstance(value, str) and value in allowed else allowed[0]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One lesson: the words that teach it, when it is still new, and what it changes.

    A status of 500 may be any passing trouble, so only words that are sure teach something then.
    """

    says: Callable[[str], object]
    new: Callable[[Quirks, Body], bool]
    lesson: Callable[[Quirks], Quirks]
    sure: bool = True


def _without(name: str) -> Callable[[Quirks], Quirks]:
    return lambda quirks: quirks.leaving_out({name})


def _weaker_format(quirks: Quirks) -> Quirks:
    weaker = "json_object" if quirks.response_format == "json_schema" else "none"
    return replace(quirks, response_format=weaker)


def _roles_in(body: Body) -> list[str]:
    messages = body["messages"]
    return [message["role"] for message in messages] if isinstance(messages, list) else []


def _parameter_rule(name: str) -> _Rule:
    mention = dict(wordings.PARAMETERS)[name]
    return _Rule(
        says=lambda text: mention.search(text) and wordings.REFUSED.search(text),
        new=lambda _, body: bool(body.get(name)),
        lesson=_weaker_format if name == "response_format" else _without(name),
        sure=name == "response_format",
    )


_RULES = (
    _Rule(
        wordings.USE_COMPLETION_TOKENS.search,
        lambda quirks, _: quirks.token_limit == "max_tokens",
        lambda quirks: replace(quirks, token_limit="max_completion_tokens"),
    ),
    _Rule(
        wordings.ONE_SYSTEM.search,
        lambda quirks, body: quirks.system == "many" and "system" in _roles_in(body)[1:],
        lambda quirks: replace(quirks, system="one"),
    ),
    _Rule(
        wordings.NO_SYSTEM.search,
        lambda quirks, body: quirks.system != "none" and "system" in _roles_in(body),
        lambda quirks: replace(quirks, system="none"),
    ),
    _Rule(
        wordings.ENDS_WITH_USER.search,
        lambda quirks, body: not quirks.ends_with_user and _roles_in(body)[-1:] == ["assistant"],
        lambda quirks: replace(quirks, ends_with_user=True),
    ),
    _Rule(
        wordings.ROLES_ALTERNATE.search,
        lambda quirks, _: not quirks.strict_turns,
        lambda quirks: replace(quirks, strict_turns=True),
    ),
    _Rule(  # a later system message breaks the alternation of some templates
        wordings.ROLES_ALTERNATE.search,
        lambda quirks, body: quirks.system != "none" and "system" in _roles_in(body),
        lambda quirks: replace(quirks, system="one" if quirks.system == "many" else "none"),
    ),
    *(_parameter_rule(name) for name in _PARAMETERS),
)


def learn(text: str, status: int, quirks: Quirks, body: Body) -> Quirks | None:
    """Return the quirks with one more lesson from a refusal, or None when it teaches nothing new.

    The first line is read first: chat templates repeat their own source, other refusals included,
    in the lines below.
    """
    if status not in LEARNED_FROM:
        return None
    for words in dict.fromkeys((text.partition("\n")[0], text)):
        for rule in _RULES:
            if (rule.sure or status != 500) and rule.says(words) and rule.new(quirks, body):
                return rule.lesson(quirks)
    return None


def guesses(status: int, quirks: Quirks, body: Body) -> Iterator[Quirks]:
    """Yield what to try when a refusal says nothing we know: one change at a time, then all."""
    if status not in _GUESSED_FROM:
        return
    if body.get("response_format"):
        yield replace(quirks, response_format="none")
    optional = frozenset(name for name in _PARAMETERS if name in body and name != "response_format")
    if optional - {"stream"}:
        yield quirks.leaving_out(optional - {"stream"})
    plain = replace(quirks, strict_turns=True, ends_with_user=True, system="none")
    if not quirks.strict_turns:
        yield replace(quirks, strict_turns=True, system="one")
    if quirks.system != "none":
        yield plain
    yield replace(plain, response_format="none").leaving_out(optional)
