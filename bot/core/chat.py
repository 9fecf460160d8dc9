"""What the rest of Troupe knows of a language model: messages in, one completion out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt. Who speaks stands in the content; there is no name field."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the server says a call cost, in its own tokens."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished answer, without its thoughts.

    `truncated` is true when the token limit ended the text, or the stream ended without saying why.
    `finish_reason` is "closed" when the caller's `on_text` ended the stream; that is not truncation.
    `instead_of` names the model that should have answered and was down; "" when it answered itself.
    """

    text: str
    finish_reason: str | None
    usage: Usage | None
    model: str
    truncated: bool
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model chooses its words. None leaves the choice to the server."""

    temperature: float | None = None
    top_p: float | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None


OnText = Callable[[str], bool]
DEFAULT_SAMPLING = Sampling()


@runtime_checkable
class ChatModel(Protocol):
    """A language model behind any server. Implementations may be used by many tasks at once."""

    @property
    def name(self) -> str:
        """The model's name as the server knows it; never holds a secret."""
        ...

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        purpose: str,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, object] | None = None,
        sampling: Sampling = DEFAULT_SAMPLING,
        on_text: OnText | None = None,
    ) -> Completion:
        """Return one answer to `messages`.

        The answer is streamed: `on_text` receives each visible piece (thoughts already removed, the
        pieces joined are the completion's text) and closes the stream by returning False; what came
        until then is returned. Cancelling the call closes the stream too.

        `purpose` is one word for the log and the request header ("reply", "memory", ...).
        `schema` is a JSON schema the answer should follow: a wish, so the caller still parses with care.
        `stop` is a wish as well: servers may ignore it, or take only the first four.

        Raises ContextOverflow, ModelUnavailable, ModelMisconfigured, ModelRefused or EmptyReply
        (all ModelError, see `bot.errors`).
        """
        ...

    async def context_tokens(self) -> int | None:
        """Return the size of the context that the server states, in tokens; None when it does not."""
        ...

    def count_tokens(self, text: str) -> int:
        """Estimate the tokens of `text`, rather too many than too few, better with every answer."""
        ...

    async def aclose(self) -> None:
        """Close the connections. No call may follow."""
        ...
