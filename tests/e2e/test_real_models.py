"""The bundled language model and the bundled embedding model together: a real reply in the channel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.bot_process import Table, eventually, stage


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_real_reply_arrives_in_the_channel(tmp_path: Path) -> None:
    env = {"LLM_BASE_URL": "", "LLM_MODEL": "bundled", "REPLY_TOKENS": "40"}
    async with stage(tmp_path, env=env) as running:
        table = await Table.lay(running, "Harbour")
        inn, anna = table.channel(), table.member("Anna")
        await table.persona("Mira", inn, description="Mira keeps the inn by the harbour. She is warm.")
        await table.scene("Evening", inn)
        await anna.say(inn, "The storm has broken the old pier.")
        reply = await table.talk(anna, inn, "Good evening, Mira! What is there to eat?", "Mira", timeout=120)
        assert len(reply.content.split()) >= 2
        assert not reply.content.startswith(("Mira:", "Anna:"))
        assert reply.webhook_id == running.discord.webhooks_of(inn)[0].id
        assert not running.model.requests  # nothing scripted had a part in it
        await eventually(
            lambda: running.stored("SELECT 1 FROM memories WHERE indexed_by LIKE 'minilm%'"), "the index", 60
        )
        assert "pier" in await table.use("memory search", inn, query="What did the weather destroy?")
        running.check()
