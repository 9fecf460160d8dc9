"""A scripted OpenAI-compatible server on loopback, with every fault that servers in the field have."""

from tests.model_server.behaviours import (
    Behaviour,
    Bytes,
    ErrorInStream,
    Fail,
    NoChoices,
    Raw,
    Reset,
    Say,
    Stall,
    ToolCall,
    WebPage,
)
from tests.model_server.refusals import Refusal
from tests.model_server.server import ModelServer, RecordedRequest

__all__ = [
    "Behaviour",
    "Bytes",
    "ErrorInStream",
    "Fail",
    "ModelServer",
    "NoChoices",
    "Raw",
    "RecordedRequest",
    "Refusal",
    "Reset",
    "Say",
    "Stall",
    "ToolCall",
    "WebPage",
]
