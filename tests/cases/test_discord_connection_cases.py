"""Field cases C12, C13 and C15: lost sessions, slow work beside the heartbeat, a missing intent."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import bot.serving
from bot.__main__ import main
from bot.adapters.embedder import ThreadedEncoder
from bot.core.vectors import Vector
from bot.errors import SettingsError
from tests.cases.in_process import feast, lay, running
from tests.discord_server import posting
from tests.e2e.bot_process import eventually
from tests.fakes_encoder import HashEncoder


async def test_c12_five_lost_sessions_double_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        gateway = play.discord.gateway
        for number in range(5):
            await gateway.close(4009, resumable=False)
            await eventually(lambda number=number: len(gateway.identifies) == number + 2, "a new session", 30)
            await eventually(play.client.is_ready, "ready again")
        reply = await table.talk(anna, inn, "Mira, are you still there?", "Mira")
        await table.talk(anna, inn, "Mira, once more!", "Mira")
        assert reply.content
        assert len(table.prompts()) == len(table.spoken(inn)) == 2
        assert len(play.discord.command_syncs) == 1
        names = [task.get_name() for task in asyncio.all_tasks()]
        for single in ("summariser", "summariser 0", "summariser 1", "indexer", "the bot", "discord"):
            assert names.count(single) <= 1, single
        assert names.count("summariser 0") == 1


async def test_c12_a_refused_sync_of_commands_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.client.SYNC_RETRY_S", 0.3)
    async with running(tmp_path, start=False) as play:
        fault = play.discord.fail_next("PUT", "/applications/", status=503, times=12)
        await play.up()
        assert fault.hits
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        await table.talk(anna, inn, "Mira, hello!", "Mira")
        await play.again()  # the same definition again: nothing to register
        assert len(play.discord.command_syncs) == 1
        await table.talk(anna, inn, "Mira, back?", "Mira")


class _Stuck:
    """Work in a thread that does not get on until it is let."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.begun.set()
        assert self.go.wait(50)


class _StuckModel:
    """A sentence model on a machine so slow that it is loaded, and reads, only when it is let."""

    dimensions = 384

    def __init__(self, loads: _Stuck, reads: _Stuck) -> None:
        self._hash = HashEncoder()
        self._reads = reads
        loads.wait()

    def encode(self, texts: list[str], *, query: bool) -> Vector:
        self._reads.wait()
        return self._hash.vectors(texts)


async def test_c13_slow_work_never_stops_the_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.engine.recalling.VECTOR_SECONDS", 0.5)
    loads, reads = _Stuck(), _Stuck()
    encoder = ThreadedEncoder(encoder_id="slow", dimensions=384, loader=lambda: _StuckModel(loads, reads))
    async with running(tmp_path, encoder=encoder, discord={"heartbeat_interval": 0.5}) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        yard, ben = table.channel("yard"), table.member("Ben")
        await table.scene("Elsewhere", yard, persona="Mira")
        for number in range(4):
            await anna.say(inn, f"Line {number} for the memory.")
        beats = play.discord.gateway.heartbeats
        for stuck in (loads, reads):
            await eventually(stuck.begun.is_set, "it is stuck")
            count = len(beats)
            await table.use("scene show", inn)
            await table.use("settings show", inn)
            await eventually(lambda count=count: len(beats) >= count + 3, "the heart beats")  # type: ignore[misc]
            await table.talk(ben, yard, f"Mira, do you hear me at beat {count}?", "Mira")
            stuck.go.set()
        await eventually(lambda: encoder.ready, "the model is loaded")
        assert not [line for line in play.log if "heartbeat blocked" in line.lower()]
        await table.talk(anna, inn, "Mira, and you?", "Mira", timeout=30)


async def test_c15_without_the_intent_the_bot_says_what_to_switch_on(tmp_path: Path) -> None:
    async with running(tmp_path, start=False) as play:
        play.discord.gateway.privileged_intents = 0
        with pytest.raises(SettingsError) as told:
            await asyncio.wait_for(bot.serving.serve(play.make_settings()), 20)
        assert "Message Content Intent" in str(told.value)
        assert "\n" not in str(told.value)
        assert play.discord.token not in str(told.value)


def test_c15_a_setting_that_no_restart_mends_ends_with_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, own_logging: None
) -> None:
    async def refused(_: object) -> int:
        raise SettingsError("switch on the intent")

    monkeypatch.setattr(bot.serving, "serve", refused)
    values = {
        "DISCORD_TOKEN": "very.secret.token",
        "LLM_BASE_URL": "http://127.0.0.1:9/v1",
        "LLM_MODEL": "m",
        "DATA_DIR": str(tmp_path),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert main(["--env-file", str(tmp_path / "none"), "run"]) not in (0, None)
    shown = capsys.readouterr()
    assert "switch on the intent" in shown.out + shown.err
    assert "very.secret.token" not in shown.out + shown.err


async def test_c15_messages_without_their_text_give_a_warning_and_no_call(tmp_path: Path) -> None:
    async with running(tmp_path) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        for _ in range(3):
            posting.post(play.discord, inn, anna.user, "")
        await eventually(lambda: any("Message Content Intent" in line for line in play.log), "a warning")
        assert "Message Content Intent" in await table.use("settings show", inn)
        assert len([line for line in play.log if "without their text" in line]) == 1
        assert not table.prompts()
        assert not play.stored("SELECT 1 FROM turns WHERE place_id = ? AND owner_id > 0", inn.id)
