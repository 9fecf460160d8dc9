"""Every error of Troupe, in one tree.

TroupeError
├── UserFacing              its text is shown to a member: what happened, what to do next
│   └── NameTaken           another persona of the space has this name
├── SettingsError           the settings cannot be used; every problem is named at once
├── StorageError            the database did not do what was asked
├── SearchIndexError        the search index did not do what was asked; SQL still holds the truth
├── HeadFileError           a file of emotion weights cannot be used
├── ModerationUnavailable   the moderation server did not say whether a text may be said
├── DeliveryError           a message did not reach Discord, or (uncertain) nobody knows
└── ModelError              the language model gave no usable answer
    ├── ModelUnavailable    busy, down or too slow, also after retries; later may work
    ├── ModelMisconfigured  key, account, address or model name is wrong; never retried
    ├── ContextOverflow     the prompt is too long for the model; shrink it and ask again
    ├── ModelRefused        the server does not take this request, whatever we leave out
    └── EmptyReply          an answer came, with no text in it

Texts of errors never hold keys, addresses with passwords, or prompts.
"""

from __future__ import annotations

import logging
import secrets


def new_reference() -> str:
    """A short id that ties what a member sees to the log."""
    return secrets.token_hex(3)


def log_failure(log: logging.Logger, what: str, problem: BaseException) -> None:
    """One record of a failure that goes no further: ours says itself what it is, any other is a surprise."""
    if isinstance(problem, TroupeError):
        log.warning("%s: %s", what, problem)
    else:
        log.error("%s (ref %s)", what, new_reference(), exc_info=problem)


class TroupeError(Exception):
    """Base of all errors that Troupe raises on purpose."""


class UserFacing(TroupeError):
    """Its text is shown to the member who caused it, as it is."""


class NameTaken(UserFacing):
    """Another persona of the space has this name (case and width folded)."""


class SettingsError(TroupeError):
    """The settings cannot be used. The text names every problem."""


class StorageError(TroupeError):
    """The database did not do what was asked."""


class SearchIndexError(TroupeError):
    """The search index did not do what was asked."""


class HeadFileError(TroupeError):
    """A file of emotion weights is missing parts or does not fit together."""


class ModerationUnavailable(TroupeError):
    """The moderation server did not say whether a text may be said. The text holds no secret."""


class DeliveryError(TroupeError):
    """A message was not delivered.

    `uncertain` is true when it may have arrived all the same (the connection broke after sending):
    look into the channel before sending again. `refused` is true when Discord takes nothing of the kind
    there, so that saying so in the same place is of no use.
    """

    def __init__(self, message: str, *, uncertain: bool = False, refused: bool = False) -> None:
        super().__init__(message)
        self.uncertain = uncertain
        self.refused = refused


class ModelError(TroupeError):
    """The language model gave no usable answer."""


class ModelUnavailable(ModelError):
    """The model is busy, down or too slow, also after retries."""


class ModelMisconfigured(ModelError):
    """The key, the account, the address or the model's name is wrong. Asking again is no use."""


class ContextOverflow(ModelError):
    """The prompt does not fit. `limit` is the context size in tokens when the server stated it; `model`
    names the model where there are several.
    """

    def __init__(self, message: str, *, limit: int | None = None, model: str = "") -> None:
        super().__init__(message)
        self.limit = limit
        self.model = model


class ModelRefused(ModelError):
    """The server refuses this request, also without everything optional, or its filter did."""


class EmptyReply(ModelError):
    """The model answered without any text."""
