"""Requests are shaped for a server without losing or reordering a word."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.chat_quirks import Quirks
from bot.adapters.chat_request import Request, shape
from bot.core.chat import ChatMessage, Sampling

messages = st.lists(
    st.builds(
        ChatMessage,
        role=st.sampled_from(["system", "user", "assistant"]),
        content=st.integers(0, 99).map(lambda number: f"word{number:02d}"),
    ),
    min_size=1,
    max_size=12,
)
quirks = st.builds(
    Quirks,
    system=st.sampled_from(["many", "one", "none"]),
    strict_turns=st.booleans(),
    ends_with_user=st.booleans(),
)


def words(prompt: list[ChatMessage], *, system: bool) -> list[str]:
    """Return the words of the system messages, or of the others, in order."""
    return [
        word
        for message in prompt
        if (message.role == "system") is system
        for word in message.content.split()
        if word != "…"
    ]


@given(messages, quirks)
def test_every_word_arrives_in_order(prompt: list[ChatMessage], needs: Quirks) -> None:
    shaped = shape(prompt, needs)
    if needs.system == "none":
        everything = words(prompt, system=True) + words(prompt, system=False)
        assert words(shaped, system=False) == everything
    else:
        assert words(shaped, system=True) == words(prompt, system=True)
        assert words(shaped, system=False) == words(prompt, system=False)


@given(messages, st.sampled_from(["one", "none"]))
def test_strict_turns_begin_with_the_user_and_alternate(prompt: list[ChatMessage], system: str) -> None:
    shaped = shape(prompt, Quirks(system=system, strict_turns=True, ends_with_user=True))
    roles = [message.role for message in shaped]
    turns = roles[1:] if roles[0] == "system" else roles
    assert "system" not in turns
    assert turns[:1] in ([], ["user"])
    assert turns[-1:] in ([], ["user"])
    assert all(one != other for one, other in pairwise(turns))


@given(messages)
def test_a_server_that_takes_everything_gets_it_unchanged(prompt: list[ChatMessage]) -> None:
    assert shape(prompt, Quirks()) == prompt


@given(st.frozensets(st.sampled_from(["stop", "stream", "temperature", "seed", "response_format"])))
def test_refused_parameters_are_left_out_and_only_they(refused: frozenset[str]) -> None:
    request = Request(
        "m", [ChatMessage("user", "x")], 5, ["A:"], {"type": "object"}, Sampling(temperature=1.0, seed=1)
    )
    body = request.body(Quirks(without=refused))
    optional = {"stop", "stream", "temperature", "seed", "response_format"}
    assert optional & body.keys() == optional - refused


def test_messages_without_text_are_left_out() -> None:
    prompt = [ChatMessage("user", "Hi"), ChatMessage("assistant", " \n"), ChatMessage("user", "there")]
    assert shape(prompt, Quirks()) == [ChatMessage("user", "Hi"), ChatMessage("user", "there")]
