"""The ledger of opt-outs and erasures: hashes only, kept over restarts, honest when damaged."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from bot.adapters import privacy_ledger
from bot.adapters.privacy_ledger import FOLDER, open_ledger
from bot.errors import StorageError

ANA, BOB = 123456789012345678, 223456789012345678
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


async def test_opt_outs_survive_a_restart_and_can_be_taken_back(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    assert not ledger.anyone_out
    assert await ledger.opt_out(ANA)
    assert not await ledger.opt_out(ANA)
    again = open_ledger(tmp_path)
    assert again.opted_out(ANA)
    assert not again.opted_out(BOB)
    assert again.anyone_out
    assert await again.opt_in(ANA)
    assert not await again.opt_in(ANA)
    assert not open_ledger(tmp_path).opted_out(ANA)


async def test_erasures_are_numbered_upwards_and_wait_for_databases_that_are_older(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    assert ledger.newest == 0
    first = await ledger.erased(ANA, at=NOON)
    second = await ledger.erased(BOB, at=NOON)
    assert 0 < first < second == ledger.newest
    again = open_ledger(tmp_path)
    assert again.erased_at(ANA) == NOON
    assert again.is_pending(ANA, after=first - 1)
    assert not again.is_pending(ANA, after=first)
    assert again.is_pending(BOB, after=first)
    assert again.erased_at(77) is None


async def test_erasing_never_undoes_an_opt_out(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    await ledger.opt_out(ANA)
    await ledger.erased(ANA, at=NOON + timedelta(days=1))
    assert open_ledger(tmp_path).opted_out(ANA)


async def test_no_file_holds_an_id_and_others_cannot_read_them(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    await ledger.opt_out(ANA)
    await ledger.erased(ANA, at=NOON)
    files = list((tmp_path / FOLDER).iterdir())
    assert {file.name for file in files} == {"key", "ledger.json", "README.txt"}
    assert all(str(ANA) not in file.read_text("utf-8") for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


async def test_two_bots_hash_the_same_member_differently(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        await open_ledger(tmp_path / folder).opt_out(ANA)
    one, two = ((tmp_path / folder / FOLDER / "ledger.json").read_text("utf-8") for folder in ("one", "two"))
    assert one != two


@pytest.mark.parametrize("content", ["", "{", '{"opted_out": []}', '{"opted_out": {}, "erased": {"a": 1}}'])
async def test_a_damaged_ledger_stops_the_start(tmp_path: Path, content: str) -> None:
    await open_ledger(tmp_path).opt_out(ANA)
    (tmp_path / FOLDER / "ledger.json").write_text(content, "utf-8")
    with pytest.raises(StorageError, match="damaged"):
        open_ledger(tmp_path)


async def test_a_lost_key_stops_the_start(tmp_path: Path) -> None:
    await open_ledger(tmp_path).opt_out(ANA)
    (tmp_path / FOLDER / "key").unlink()
    with pytest.raises(StorageError, match="key"):
        open_ledger(tmp_path)


async def test_an_opt_out_that_could_not_be_written_holds_and_is_written_when_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(privacy_ledger, "write_whole", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(StorageError, match="No space"):
            await ledger.opt_out(ANA)
        assert ledger.opted_out(ANA)
        assert not open_ledger(tmp_path).opted_out(ANA)
    assert await ledger.opt_out(ANA)
    assert not await ledger.opt_out(ANA)
    assert open_ledger(tmp_path).opted_out(ANA)


async def test_a_command_that_is_given_up_while_it_writes_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(tmp_path)
    writing, go_on, at_once, most = threading.Event(), threading.Event(), [0], [0]
    write = privacy_ledger.write_whole

    def slowly(path: Path, content: bytes) -> None:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        writing.set()
        assert go_on.wait(10)
        write(path, content)
        at_once[0] -= 1

    monkeypatch.setattr(privacy_ledger, "write_whole", slowly)
    given_up = asyncio.create_task(ledger.opt_out(ANA))
    assert await asyncio.to_thread(writing.wait, 10)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    other = asyncio.create_task(ledger.opt_out(BOB))
    await asyncio.wait([other], timeout=0.1)
    go_on.set()
    assert await other
    assert most == [1]
    again = open_ledger(tmp_path)
    assert again.opted_out(ANA)
    assert again.opted_out(BOB)
