"""Answers to commands stand there once, also where Discord fails after it took them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cogs.conftest import Stage
from tests.connected import eventually

ANSWERS = r"/webhooks/\d+/[^/]+"
FILLING = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"


@pytest.mark.parametrize("status", [500, 502])
async def test_an_answer_that_discord_took_before_it_failed_is_not_doubled(stage: Stage, status: int) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    failing = [
        stage.server.fail_next(method, ANSWERS, status=status, after_effect=True)
        for method in ("POST", "PATCH")
    ]
    asked = await stage.moderator.slash("persona show", stage.channel, persona="Mira")
    await asked.answer()
    await eventually(lambda: len(stage.server.requests_to("PATCH", FILLING)) == 2, 10)
    assert [one.hits for one in failing] == [0, 1]
    assert len(asked.messages) == 1
    assert "Mira" in asked.messages[0].text


async def test_of_one_very_long_line_the_beginning_is_shown_beside_the_file(stage: Stage) -> None:
    mira = stage.troupe.personas.add(stage.guild.id, "Mira")
    stage.troupe.personas.kept[mira.id] = replace(mira, card={**mira.card, "description": "bread " * 2000})
    message = await (await stage.moderator.slash("persona show", stage.channel, persona="Mira")).answer()
    assert 1900 < len(message.content) <= 2000
    assert message.content.endswith("the whole text is attached.*")
    assert [file.filename for file in message.attachments] == ["answer.txt"]
