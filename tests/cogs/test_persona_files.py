"""Cards come into Discord and leave it, on the real engine."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.card_files import read_card_file
from bot.core.cards import TEMPERAMENTS
from tests.card_parts import LORE_ENTRY, charx, packed, picture, png, text, v1, v3
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer, Modal
from tests.loop_gaps import gaps

CARD = v3(
    alternate_greetings=["Again you?"],
    character_book={"entries": [LORE_ENTRY]},
    extensions={"depth_prompt": {"depth": 4}},
    description="{{char}} runs a ferry {{foo}}",
)
FILE = ("mira.png", png(text(b"ccv3", packed(CARD))))


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path) as found:
        yield found


async def test_a_card_is_imported_with_a_report_and_exported_whole(played: Played) -> None:
    answer = await played.ask("persona import", card=FILE)
    assert answer.ephemeral
    for words in ("**Mira** is here", "PNG", "2 greetings", "1 lore entry", "`{{foo}}`", "/scene start"):
        assert words in answer.content
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert mira.card["alternate_greetings"] == ["Again you?"]
    assert mira.avatar is not None
    for form in ("png", "json"):
        exported = await played.ask("persona export", persona="mira", format=form)
        (file,) = exported.attachments
        assert file.filename == f"Mira.{form}"
        again = await read_card_file(file.content, "other.png")
        assert again.data == mira.card
        assert again.avatar == (mira.avatar if form == "png" else None)


async def test_the_other_files_of_an_archive_are_kept_until_another_card_replaces_it(played: Played) -> None:
    came = charx(CARD, assets__soundDOTogg=b"la la")
    answer = await played.ask("persona import", card=("mira.charx", came))
    assert "1 other files (pictures, sounds) are kept" in answer.content
    await _exports(played, {"assets/sound.ogg": b"la la"})
    await played.click(await played.ask("persona import", card=FILE), "Replace it")
    await _exports(played, {})


async def _exports(played: Played, others: dict[str, bytes]) -> None:
    """The exported archive gives the same persona and holds these files besides."""
    (mira,) = await played.troupe.personas.all(played.guild.id)
    (file,) = (await played.ask("persona export", persona="mira", format="charx")).attachments
    assert file.filename == "Mira.charx"
    assert (await read_card_file(file.content)).data == mira.card
    with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
        names = set(archive.namelist()) - {"card.json", "assets/icon/main.png"}
        assert {name: archive.read(name) for name in names} == others


async def test_a_taken_name_asks_what_to_do(played: Played) -> None:
    await played.ask("persona import", card=FILE)
    other = ("x.json", json.dumps(v1(name="ＭＩＲＡ", description="Another.")).encode())
    asked = await played.ask("persona import", card=other)
    assert "already" in asked.content
    done = await played.click(asked, "Keep both: Mira (2)")
    assert "**Mira (2)** is here" in done.content
    asked = await played.ask("persona import", card=other)
    await played.click(asked, "Replace it")
    personas = {one.name: one for one in await played.troupe.personas.all(played.guild.id)}
    assert set(personas) == {"ＭＩＲＡ", "Mira (2)"}
    assert personas["ＭＩＲＡ"].former_names == ("Mira",)
    assert personas["ＭＩＲＡ"].avatar is not None
    assert personas["Mira (2)"].text("name") == "Mira (2)"


async def test_several_files_come_through_a_form(played: Played) -> None:
    form = await (await played.moderator.slash("persona import", played.channel)).modal()
    files = [
        FILE,
        ("same.png", FILE[1]),
        ("photo.jpg", picture("JPEG")),
        ("zoe.txt", json.dumps(v1(name="Zoë")).encode()),
    ]
    answer = await (await played.moderator.submit_modal(form, files={"files": files})).answer()
    lines = answer.content.split("\n")
    assert "**Mira** is here" in lines[0]
    assert any("**same.png**" in line and "already" in line for line in lines)
    assert any("**photo.jpg**" in line and "JPEG" in line for line in lines)
    assert "**Zoë** is here" in lines[-1]
    assert [one.name for one in await played.troupe.personas.all(played.guild.id)] == ["Mira", "Zoë"]


async def test_a_broken_file_is_answered_and_nothing_is_made(played: Played) -> None:
    answer = await played.ask("persona import", card=("x.png", png()))
    assert "no card in this picture" in answer.content
    large = await played.ask("persona import", card=("x.png", b"x" * (10 * 1024 * 1024 + 1)))
    assert "limit is 10 MiB" in large.content
    assert await played.troupe.personas.all(played.guild.id) == []


async def test_a_five_megabyte_card_answers_within_three_seconds_and_holds_nobody_up(played: Played) -> None:
    took, longest = [], []
    for name in ("Mira", "Odo", "Kenji"):
        card = v3(name=name, extensions={"bulk": "river " * 870_000})
        raw = json.dumps(card).encode()
        assert len(raw) > 5_000_000
        began = time.perf_counter()
        async with gaps() as found:
            answer = await played.ask("persona import", card=("big.json", raw))
        took.append(time.perf_counter() - began)
        longest.append(max(found))
        assert f"**{name}** is here" in answer.content
    assert min(took) < 3.0
    assert min(longest) < 1.0


@pytest.mark.parametrize("command", ["persona import", "persona export", "persona history"])
async def test_a_plain_member_is_refused(played: Played, command: str) -> None:
    options = {} if command == "persona import" else {"persona": "Mira"}
    asked = await played.member.slash(command, played.channel, ignore_defaults=True, **options)
    assert "moderator" in (await asked.answer()).content


async def test_history_tells_changes_and_brings_a_card_back(played: Played) -> None:
    await played.ask("persona import", card=FILE)
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert "never changed" in (await played.ask("persona history", persona="Mira")).content
    await played.troupe.personas.edit(mira.id, name="Mira Vale", description="Sold the ferry.")
    await played.troupe.personas.edit(mira.id, personality="warm")
    shown = await played.ask("persona history", persona="mira vale")
    first, second = shown.content.split("\n")[:2]
    assert first.startswith("`2`")
    assert first.endswith("changed: personality")
    assert second.startswith("`1`")
    assert second.endswith("changed: name, description")
    assert "Sold the ferry." in shown.attachments[0].content.decode()
    done = await (await played.moderator.select(shown, "Bring back …", "1")).answer()
    assert "**Mira**" in done.content
    (again,) = await played.troupe.personas.all(played.guild.id)
    assert (again.id, again.card, again.name) == (mira.id, mira.card, "Mira")
    assert again.former_names == ("Mira Vale",)
    assert len(await played.troupe.personas.history(mira.id)) == 3


def picked_in(form: Modal) -> list[str]:
    """What the menu of temperaments shows as chosen."""
    options = form.fields["temperament"]["options"]
    return [one["value"] for one in options if one.get("default")]


async def test_a_temperament_of_a_cards_own_stays_until_another_is_chosen(played: Played) -> None:
    own = [2.0, 3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0]
    card = v3(extensions={"troupe": {"temperament": own}})
    await played.ask("persona import", card=("m.json", json.dumps(card).encode()))
    asked = await played.moderator.slash("persona edit", played.channel, persona="Mira", page="lists")
    form = await asked.modal()
    assert picked_in(form) == ["as its card says"]
    await (await played.moderator.submit_modal(form, {"tags": "river"})).answer()
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert (mira.temperament.tolist(), mira.card["tags"]) == (own, ["river"])
    asked = await played.moderator.slash("persona edit", played.channel, persona="Mira", page="lists")
    both = {"tags": "sea", "temperament": "fierce"}
    await (await played.moderator.submit_modal(await asked.modal(), both)).answer()
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert (mira.temperament.tolist(), mira.card["tags"]) == (list(TEMPERAMENTS["fierce"]), ["sea"])
    assert len(await played.troupe.personas.history(mira.id)) == 2


async def test_a_former_picture_comes_back_with_its_card(played: Played) -> None:
    await played.ask("persona import", card=FILE)
    (mira,) = await played.troupe.personas.all(played.guild.id)
    await played.ask("persona edit", persona="Mira", avatar=("new.jpg", picture("JPEG")))
    (painted,) = await played.troupe.personas.all(played.guild.id)
    assert mira.avatar != painted.avatar
    shown = await played.ask("persona history", persona="Mira")
    assert shown.content.split("\n")[0].endswith("then changed: its picture")
    await (await played.moderator.select(shown, "Bring back …", "1")).answer()
    (again,) = await played.troupe.personas.all(played.guild.id)
    assert again.avatar == mira.avatar
    shown = await played.ask("persona history", persona="Mira")
    await (await played.moderator.select(shown, "Bring back …", "2")).answer()
    (again,) = await played.troupe.personas.all(played.guild.id)
    assert again.avatar == painted.avatar


async def test_lists_and_the_temperament_are_edited_and_keep_revisions(played: Played) -> None:
    await played.ask("persona import", card=FILE)
    asked = await played.moderator.slash("persona edit", played.channel, persona="Mira", page="lists")
    form = await asked.modal()
    assert form.fields["alternates"]["value"] == "Again you?"
    typed = {
        "alternates": "One.\n\nTwo lines.\n---\n Two. \n----\n",
        "tags": "a, b ,",
        "notes": "For people.",
    }
    done = await (await played.moderator.submit_modal(form, typed)).answer()
    assert "alternates, tags, notes" in done.content
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert mira.card["alternate_greetings"] == ["One.\n\nTwo lines.", "Two."]
    assert (mira.card["tags"], mira.text("creator_notes")) == (["a", "b"], "For people.")
    asked = await played.moderator.slash("persona edit", played.channel, persona="Mira", page="lists")
    form = await asked.modal()
    assert picked_in(form) == ["calm"]
    done = await (await played.moderator.submit_modal(form, {"temperament": "gloomy"})).answer()
    assert "changed: temperament" in done.content
    (mira,) = await played.troupe.personas.all(played.guild.id)
    assert mira.temperament.tolist() == pytest.approx(list(TEMPERAMENTS["gloomy"]))
    assert mira.card["extensions"]["depth_prompt"] == {"depth": 4}  # type: ignore[index]
    exported = await played.ask("persona export", persona="Mira", format="json")
    assert json.loads(exported.attachments[0].content)["data"]["extensions"]["troupe"]["temperament"][4] == 5
    assert len(await played.troupe.personas.history(mira.id)) == 2
