"""Settings fail early and kindly, and never show a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from bot import environment
from bot.core.spending import Price
from bot.errors import SettingsError
from bot.setting_kinds import BUNDLED, About
from bot.settings import Settings, variables

SECRET = "MTIzNDU2.Gabcde.do-not-show-me"


def load(**environ: str) -> Settings:
    return Settings.load(environ, None)


def refused(**environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(**environ)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_nothing_set_is_a_console_on_the_bundled_models() -> None:
    settings = load()
    assert settings.discord_token is None
    assert settings.bundled_model
    assert settings.embedding_model == BUNDLED
    assert settings.concurrency == 1
    assert settings.data_dir == Path("data")


def test_a_server_gets_four_calls_at_once_unless_told_otherwise() -> None:
    server = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "m"}
    assert load(**server).concurrency == 4
    assert load(**server, LLM_CONCURRENCY="2").concurrency == 2


def test_all_problems_are_named_at_once() -> None:
    text = refused(LLM_CONCURRENCY="zero", LLM_TEMPERATURE="9", LOG_LEVEL="loud", LLM_BASE_URL="nowhere")
    lines = text.splitlines()
    assert lines[0] == "The settings have 5 problems:"
    for beginning in (
        "LLM_CONCURRENCY=zero:",
        "LLM_TEMPERATURE=9:",
        "LOG_LEVEL=loud:",
        "LLM_BASE_URL=nowhere:",
    ):
        assert any(line.strip().startswith(beginning) for line in lines), beginning
    assert any(line.strip().startswith("LLM_MODEL is not set") for line in lines)
    assert all("expected" in line and "for example" in line for line in lines[1:])


def test_one_problem_is_one_line() -> None:
    text = refused(CONTEXT_TOKENS="many")
    assert "\n" not in text
    assert text.startswith("CONTEXT_TOKENS=many: expected ")
    assert text.endswith("for example CONTEXT_TOKENS=8192")


@pytest.mark.parametrize("name", ["DISCORD_TOKEN", "LLM_API_KEY", "LLM_BACKGROUND_API_KEY"])
def test_a_bad_secret_is_named_but_not_shown(name: str) -> None:
    text = refused(**{name: f"{SECRET} and more"})
    assert name in text
    assert SECRET not in text


def test_a_password_in_an_address_is_used_and_never_shown() -> None:
    text = refused(LLM_BASE_URL="ftp://me:hunter2@example.com/v1", LLM_MODEL="m")
    assert "LLM_BASE_URL=(hidden)" in text
    settings = load(LLM_BASE_URL="https://me:hunter2@example.com/v1", LLM_MODEL="m")
    assert settings.llm_base_url == "https://me:hunter2@example.com/v1"
    assert settings.model_name == "m at https://example.com/v1"
    assert settings.secrets() == ("hunter2",)
    assert "hunter2" not in text + repr(settings) + str(settings)


def test_no_key_or_password_of_any_setting_shows_in_repr_or_dump() -> None:
    keys = [name for name in Settings.model_fields if name.endswith(("_key", "_token"))]
    addresses = [name for name in Settings.model_fields if name.endswith("_base_url")]
    assert "moderation_api_key" in keys
    values: dict[str, Any] = {name: SecretStr(f"sk-quiet-{name}") for name in keys}
    values |= {name: f"https://me:hunter2{name.replace('_', '')}@models.example/v1" for name in addresses}
    settings = Settings(llm_model="a-model", **values)
    shown = f"{settings!r}{settings}{settings.model_dump(exclude=set(addresses))}"
    assert "sk-quiet" not in shown
    assert "hunter2" not in shown
    known = settings.secrets()
    assert {f"sk-quiet-{name}" for name in keys} <= set(known)
    assert len([one for one in known if one.startswith("hunter2")]) == len(addresses)


def test_secrets_stay_out_of_repr_but_are_known_to_the_log() -> None:
    settings = load(DISCORD_TOKEN=SECRET, LLM_MODEL="bundled", LLM_API_KEY="sk-quiet")
    assert SECRET not in f"{settings!r} {settings}"
    assert "sk-quiet" not in repr(settings)
    assert set(settings.secrets()) == {SECRET, "sk-quiet"}


def test_a_long_or_odd_value_is_shown_on_one_short_line() -> None:
    text = refused(LOG_LEVEL="x\ny\x1b[31m" + "z" * 500)
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 250


def test_empty_values_count_as_unset(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("REPLY_TOKENS=300\nLLM_MODEL=\nDATA_DIR=  \n", encoding="utf-8")
    settings = Settings.load({"REPLY_TOKENS": " "}, file)
    assert settings.reply_tokens == 300
    assert settings.llm_model is None
    assert settings.data_dir == Path("data")


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("REPLY_TOKENS=300\nDAILY_TOKENS=7\n", encoding="utf-8")
    settings = Settings.load({"REPLY_TOKENS": "200"}, file)
    assert (settings.reply_tokens, settings.daily_tokens) == (200, 7)


def test_a_missing_file_is_fine_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path / "none") == load()
    broken = tmp_path / ".env"
    broken.write_bytes(b"DISCORD_TOKEN=\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"\.env cannot be read"):
        Settings.load({}, broken)


def test_values_are_taken_as_written(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b'\xef\xbb\xbfLLM_API_KEY="a${HOME}b"\r\n')
    key = Settings.load({}, file).llm_api_key
    assert key is not None
    assert key.get_secret_value() == "a${HOME}b"


def test_quotes_kept_by_other_tools_are_dropped() -> None:
    token = load(DISCORD_TOKEN=f'"{SECRET}"', LLM_MODEL="bundled").discord_token
    assert token is not None
    assert token.get_secret_value() == SECRET


def test_the_word_bot_before_the_token_is_dropped() -> None:
    token = load(DISCORD_TOKEN=f"Bot {SECRET}").discord_token
    assert token is not None
    assert token.get_secret_value() == SECRET


@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "/chat/completions/"])
def test_an_address_ends_at_v1(end: str) -> None:
    settings = load(LLM_BASE_URL=f"https://example.com/v1{end}", LLM_MODEL="m")
    assert settings.llm_base_url == "https://example.com/v1"
    assert settings.model_name == "m at https://example.com/v1"


def test_a_token_without_a_model_says_in_one_line_what_to_set() -> None:
    with pytest.raises(SettingsError) as caught:
        load(DISCORD_TOKEN=SECRET).for_discord()
    text = str(caught.value)
    assert "LLM_BASE_URL" in text
    assert "LLM_MODEL=bundled" in text
    assert "\n" not in text
    assert SECRET not in text


def test_a_token_without_a_model_is_named_among_the_other_problems() -> None:
    wrong = {"DISCORD_TOKEN": SECRET, "CONTEXT_TOKENS": "abc"}
    text = refused(**wrong)
    assert "2 problems" in text
    assert "CONTEXT_TOKENS=abc" in text
    assert "LLM_BASE_URL is not set" in text
    with pytest.raises(SettingsError) as caught:
        Settings.load(wrong, None, console=True)
    assert "LLM_BASE_URL" not in str(caught.value)


def test_a_token_runs_on_the_bundled_model_when_asked_to() -> None:
    settings = load(DISCORD_TOKEN=SECRET, LLM_MODEL="bundled")
    assert settings.for_discord() is settings
    assert settings.bundled_model


def test_no_token_is_no_bot() -> None:
    with pytest.raises(SettingsError, match="DISCORD_TOKEN"):
        load(LLM_MODEL="bundled").for_discord()


def test_a_model_needs_an_address_and_an_address_a_model() -> None:
    assert refused(LLM_MODEL="gpt-4o-mini").startswith("LLM_BASE_URL is not set, and LLM_MODEL needs it")
    assert refused(LLM_BASE_URL="http://h/v1").startswith("LLM_MODEL is not set, and LLM_BASE_URL needs it")
    assert "LLM_BACKGROUND_MODEL" in refused(LLM_BACKGROUND_BASE_URL="http://h/v1")


def test_a_background_model_needs_a_server_that_has_it() -> None:
    served = {"LLM_BASE_URL": "http://h/v1", "LLM_MODEL": "m"}
    for variable in ("LLM_BACKGROUND_MODEL", "LLM_BACKGROUND_API_KEY"):
        expected = f"LLM_BACKGROUND_BASE_URL is not set, and {variable} needs it"
        assert refused(**{variable: "x"}).startswith(expected)
        assert load(**served, **{variable: "x"}).own_background
    assert refused(**served, LLM_BACKGROUND_MODEL="bundled").startswith("LLM_BACKGROUND_MODEL=bundled: ")
    assert not load(**served).own_background


def test_temperature_may_be_left_to_the_server() -> None:
    assert load(LLM_TEMPERATURE="server").llm_temperature is None
    assert load().llm_temperature == 0.8


def test_settings_never_change() -> None:
    with pytest.raises(ValidationError):
        load().reply_tokens = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "slip", ["DISCORD_TOKKEN", "discord_token", "LLM_BASEURL", "EMBEDING_MODEL", "DATADIR"]
)
def test_a_slip_of_the_pen_gets_a_hint(slip: str) -> None:
    (hint,) = environment.misspelled(variables(), {slip: "x", "PATH": "/bin"}, None)
    assert hint.startswith(f"{slip} is not a setting; did you mean ")


def test_no_hint_where_the_right_name_is_there_too() -> None:
    names = {"DISCORD_TOKKEN": "x", "DISCORD_TOKEN": "y", "HOME": "h", "LANG": "C"}
    assert environment.misspelled(variables(), names, None) == ()


def test_every_setting_has_words_and_an_example_that_is_accepted() -> None:
    for name, field in Settings.model_fields.items():
        about = next(item for item in field.metadata if isinstance(item, About))
        assert about.expected
        Settings.model_validate({name: about.example})


def test_the_example_file_holds_every_setting_with_its_default(root: Path) -> None:
    lines = (root / ".env.example").read_text(encoding="utf-8").splitlines()
    shown = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert sorted(shown) == sorted(variables())
    for name, text in shown.items():
        default = Settings.model_fields[name.lower()].default
        assert text == (
            "" if default in (None, ()) else f"{default:g}" if isinstance(default, float) else str(default)
        )


def test_the_example_file_gives_the_defaults_and_explains_each(root: Path) -> None:
    assert Settings.load({}, root / ".env.example") == load()
    before = ""
    for line in (root / ".env.example").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert before.startswith("#") or before.partition("=")[0].isupper(), line
        before = line


def test_settings_can_be_made_by_a_test_without_any_environment(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, discord_token=SecretStr(SECRET), llm_model="bundled")
    assert settings.for_discord().data_dir == tmp_path


SERVER = {"LLM_BASE_URL": "https://example.com/v1", "LLM_MODEL": "big", "LLM_API_KEY": "sk-main"}


def test_fallbacks_are_models_with_addresses_and_keys_of_their_own() -> None:
    text = (
        "middle; org/small:free https://other.example/v1/chat/completions SMALL_KEY;"
        "local http://127.0.0.1:11434/v1"
    )
    first, second, third = load(**SERVER, LLM_FALLBACKS=text, SMALL_KEY="sk-small").llm_fallbacks
    assert (first.model, first.address) == ("middle", None)
    assert first.key is not None
    assert first.key.get_secret_value() == "sk-main"
    assert (second.model, second.address) == ("org/small:free", "https://other.example/v1")
    assert second.key is not None
    assert second.key.get_secret_value() == "sk-small"
    assert (third.model, third.address, third.key) == ("local", "http://127.0.0.1:11434/v1", None)


def test_no_key_of_a_fallback_is_ever_shown() -> None:
    settings = load(
        **SERVER, LLM_FALLBACKS="m https://me:hunter2@other.example/v1 SMALL_KEY", SMALL_KEY="sk-small"
    )
    assert {"sk-small", "hunter2"} <= set(settings.secrets())
    assert "sk-small" not in f"{settings!r} {settings}"
    assert "hunter2" not in f"{settings!r} {settings}"


@pytest.mark.parametrize(
    "text",
    [
        "m https://other.example/v1 sk-pasted-key",
        "https://other.example/v1",
        "m https://other.example/v1 KEY more",
        "bundled",
        "m http://",
    ],
)
def test_fallbacks_that_cannot_be_read_are_named_but_not_shown(text: str) -> None:
    told = refused(**SERVER, LLM_FALLBACKS=text)
    assert told.startswith("LLM_FALLBACKS=(hidden): expected `model [address] [variable of its key]`")
    assert "pasted" not in told


def test_what_fallbacks_need_is_named() -> None:
    assert "SMALL_KEY is not set" in refused(**SERVER, LLM_FALLBACKS="m https://x.example/v1 SMALL_KEY")
    assert "LLM_BASE_URL is not set" in refused(LLM_MODEL="bundled", LLM_FALLBACKS="m")
    assert load(LLM_MODEL="bundled", LLM_FALLBACKS="m http://127.0.0.1:1/v1").llm_fallbacks


def test_prices_that_are_not_set_are_those_of_the_replies() -> None:
    server = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "big", "LLM_CHEAP_MODEL": "small"}
    settings = load(**server, LLM_PRICE_INPUT="3", LLM_PRICE_OUTPUT="15", LLM_CHEAP_PRICE_OUTPUT="0.6")
    assert settings.price == settings.background_price == Price(3, 15)
    assert settings.cheap_price == Price(3, 0.6)
    assert load(**server, LLM_PRICE_OUTPUT="2").background_price == Price(0, 2)
    assert load(**server).price == Price()


def test_ceilings_of_money_need_prices_and_a_cheaper_model_its_server() -> None:
    server = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "big"}
    text = refused(**server, MONTHLY_COST="30")
    assert text.startswith("LLM_PRICE_OUTPUT is not set, and MONTHLY_COST needs it")
    assert load(**server, DAILY_COST="0.0", MONTHLY_COST="0").monthly_cost == 0
    assert load(**server, DAILY_COST="1.5", LLM_PRICE_INPUT="1").daily_cost == 1.5
    assert "LLM_CHEAP_MODEL needs it" in refused(LLM_MODEL="bundled", LLM_CHEAP_MODEL="small")
    assert "LLM_PRICE_INPUT=free" in refused(**server, LLM_PRICE_INPUT="free")
    assert "DAILY_COST=-1" in refused(**server, DAILY_COST="-1")
    assert "LLM_PRICE_INPUT=nan" in refused(**server, LLM_PRICE_INPUT="nan")
