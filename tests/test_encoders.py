"""Which encoder the settings name, and which key goes to its server."""

from __future__ import annotations

from pathlib import Path

import openai  # noqa: F401 - loaded before any test counts its seconds
import pytest

from bot import check
from bot.adapters.embedder import ThreadedEncoder
from bot.adapters.embedding_server import ServedEncoder
from bot.adapters.emotion_head import EmotionHead, head_path
from bot.adapters.seed_head import seed_head_path
from bot.encoders import encoder_of
from bot.errors import SettingsError
from bot.part_checks import encoder_row
from bot.self_check import State
from bot.settings import Settings
from tests.model_server import Fail, ModelServer
from tests.model_server.fixtures import model_server

__all__ = ["model_server"]

LLM = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "m", "LLM_API_KEY": "sk-of-the-llm"}
SERVED = {"EMBEDDING_MODEL": "openai:embed-3"}
OTHER = {"EMBEDDING_BASE_URL": "http://user:hidden@127.0.0.1:2/v1"}


def load(*parts: dict[str, str]) -> Settings:
    return Settings.load({name: value for part in parts for name, value in part.items()}, None)


def test_a_name_without_a_server_is_a_model_on_this_machine() -> None:
    encoder = encoder_of(load())
    assert isinstance(encoder, ThreadedEncoder)
    assert encoder.id.startswith("minilm-l6-v2:")
    assert load().embedding_host is None


def test_a_served_model_is_asked_at_the_language_models_server_unless_it_has_its_own() -> None:
    encoder = encoder_of(load(LLM, SERVED))
    assert isinstance(encoder, ServedEncoder)
    assert encoder.id == "openai:embed-3"
    assert load(LLM, SERVED).embedding_host == "127.0.0.1"
    assert (
        load(LLM, SERVED, {"EMBEDDING_BASE_URL": "http://there.example/v1"}).embedding_host == "there.example"
    )


def key(*parts: dict[str, str]) -> str | None:
    found = load(LLM, SERVED, *parts).embedding_key
    return found.get_secret_value() if found else None


def test_the_language_models_key_goes_to_no_other_server() -> None:
    assert key() == "sk-of-the-llm"
    assert key({"EMBEDDING_BASE_URL": LLM["LLM_BASE_URL"]}) == "sk-of-the-llm"
    assert key(OTHER) is None
    assert key(OTHER, {"EMBEDDING_API_KEY": "sk-own"}) == "sk-own"


def test_its_secrets_are_secrets() -> None:
    settings = load(LLM, SERVED, OTHER, {"EMBEDDING_API_KEY": "sk-own"})
    assert {"sk-own", "hidden", "sk-of-the-llm"} <= set(settings.secrets())
    assert "hidden" not in repr(settings)
    assert "sk-own" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        (SERVED, "EMBEDDING_BASE_URL is not set, and EMBEDDING_MODEL needs it"),
        (SERVED | {"LLM_MODEL": "bundled"}, "EMBEDDING_BASE_URL is not set"),
        (LLM | {"EMBEDDING_MODEL": "openai:"}, "EMBEDDING_MODEL=openai:: expected"),
        (LLM | SERVED | {"EMBEDDING_BASE_URL": "nowhere"}, "EMBEDDING_BASE_URL=nowhere: expected"),
    ],
)
def test_what_is_missing_is_said(environ: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ)
    assert told in str(caught.value)


async def test_the_check_says_where_texts_go_and_what_is_wrong(model_server: ModelServer) -> None:
    settings = load(LLM, SERVED, {"EMBEDDING_BASE_URL": model_server.url})
    async with encoder_of(settings) as encoder:
        row = await encoder_row(encoder, check._more_of(settings, encoder.id))
    assert row.state is State.OK
    assert "openai:embed-3, 8 dimensions" in row.text
    assert "a head for feelings is fitted at the first start" in row.text
    assert row.text.endswith("texts that are remembered or searched for go to 127.0.0.1")
    model_server.set_script("embedding", lambda _: Fail(401, {"error": {"message": "bad key"}}))
    async with encoder_of(settings) as encoder:
        row = await encoder_row(encoder)
    assert row.state is State.FAILED
    assert "EMBEDDING_MODEL=openai:embed-3" in row.text


def test_the_check_says_who_reads_feelings(tmp_path: Path) -> None:
    settings = load({"DATA_DIR": str(tmp_path)})
    assert check._more_of(settings, "minilm-l6-v2:384:0") == "; feelings are read by a head trained for it"
    fitted = seed_head_path(tmp_path, "st:other")
    head = EmotionHead.load("minilm-l6-v2:384:0")
    assert head is not None
    head.write(fitted)
    assert check._more_of(settings, "st:other").endswith("fitted here from seed sentences")
    head_path(tmp_path, "st:other").write_bytes(b"no head")
    assert "holds no emotion head" in check._more_of(settings, "st:other")
