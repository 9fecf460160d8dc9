"""Field cases C42–C48: the cards that people really have, through /persona import and into the talk."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.card_parts import charx, encrypted, packed, picture, png, text, v1, v2, v3, ztext
from tests.cases.in_process import InProcess, feast
from tests.discord_server import Channel
from tests.e2e.bot_process import Table, plain, window

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _import(table: Table, name: str, raw: bytes) -> str:
    return await table.use("persona import", table.channel(), card=(name, raw))


async def _shown(table: Table, name: str) -> str:
    used = await table.moderator.slash("persona show", table.channel(), persona=name)
    await used.answer()
    files = [item.content.decode() for one in used.messages for item in one.attachments]
    return "\n".join([*(one.text for one in used.messages), *files])


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (png(ztext(b"chara", packed(v2("Packed")))), "Packed"),
        (png(before=(ztext(b"chara", packed(v2("Early"))),)), "Early"),
        (png(ztext(b"chara", packed(v2("Two"))), ztext(b"ccv3", packed(v3("Three")))), "Three"),
    ],
    ids=["after the picture", "before it", "both kinds"],
)
async def test_c42_compressed_card_data_is_read(table: Table, raw: bytes, name: str) -> None:
    told = await _import(table, "card.png", raw)
    assert f"**{name}** is here, from a PNG card" in told
    assert "A ferrywoman." in await _shown(table, name)


async def test_c42_a_bomb_in_compressed_data_is_refused(table: Table) -> None:
    told = await _import(table, "bomb.png", png(ztext(b"chara", b"A" * 40_000_000)))
    assert "is here" not in told
    assert "10 MiB" in told


@pytest.mark.parametrize(
    "raw",
    [
        png(text(b"chara", packed(v2("Late")))),
        png(text(b"chara", packed(v2("Late"))), idats=3),
        png(before=(text(b"chara", packed(v2("Late"))),), idats=4),
        png(text(b"chara", packed(v2("Two"))), text(b"ccv3", packed(v3("Late")))),
    ],
    ids=["after", "after several", "before several", "the newer wins"],
)
async def test_c43_the_card_is_found_wherever_it_stands(table: Table, raw: bytes) -> None:
    assert "**Late** is here" in await _import(table, "card.png", raw)


async def test_c43_the_size_of_a_picture_is_bounded_but_its_card_is_read(table: Table) -> None:
    told = await _import(table, "bomb.png", png(text(b"chara", packed(v2("Large"))), claimed=60_000))
    assert "**Large** is here" in told
    assert "picture was left out" in told


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
async def test_c43_a_picture_without_a_card_is_told_apart(table: Table, form: str) -> None:
    told = await _import(table, "holiday.png", picture(form))
    assert "no card in this picture" in told
    assert "no persona yet" in await table.use("persona list", table.channel())


async def test_c44_nulls_are_as_good_as_absent(table: Table) -> None:
    nothing = dict.fromkeys(
        ("character_book", "tags", "system_prompt", "alternate_greetings", "creator_notes", "mes_example")
    )
    card = v2("Null", **nothing)
    card["data"].pop("extensions", None)
    assert "**Null** is here" in await _import(table, "null.json", json.dumps(card).encode())
    inn, anna = table.channel(), table.member("Anna")
    await table.scene("Feast", inn)
    await table.stage.discord.wait_for_message(inn, lambda one: one.content == "Hop in.")
    await table.talk(anna, inn, "Null, hello!", "Null")
    assert "None" not in table.prompts()[-1].text


@pytest.mark.parametrize(
    ("card", "file", "name"),
    [
        (v2("", root={"name": "Rooted"}), "x.json", "Rooted"),
        (v2("   "), "Old_Barn.json", "Old Barn"),
        ({"spec": "chara_card_v2", "data": {"description": "A barn."}}, "the barn.json", "the barn"),
    ],
)
async def test_c45_no_persona_is_without_a_name(
    table: Table, card: dict[str, Any], file: str, name: str
) -> None:
    assert f"**{name}** is here" in await _import(table, file, json.dumps(card).encode())
    assert f"**{name}**" in await table.use("persona list", table.channel())
    assert name in await _shown(table, name)
    asked = await table.moderator.slash("persona delete", table.channel(), persona=name)
    question = await asked.answer()
    done = await table.moderator.click(question, "Delete")
    await done.answer()
    assert "no persona yet" in await table.use("persona list", table.channel())


@pytest.mark.parametrize("ending", ["json", "txt", "png"])
@pytest.mark.parametrize("make", [v1, v2, v3])
async def test_c46_the_content_decides_and_the_report_is_true(table: Table, make: Any, ending: str) -> None:
    told = await _import(table, f"card.{ending}", json.dumps(make()).encode())
    assert "**Mira** is here, from a JSON card: 1 greeting" in told
    assert "description 13" in told
    shown = await _shown(table, "Mira")
    assert "A ferrywoman." in shown
    assert "Hop in." in shown


async def test_c46_a_picture_called_json_is_a_picture(table: Table) -> None:
    assert "from a PNG card" in await _import(table, "card.json", png(text(b"chara", packed(v2()))))


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"{}", "Nothing of a character"),
        (b"[]", "card"),
        (b'"text"', "card"),
        (b"not json at all", "not valid JSON"),
        (b'{"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}', "lorebook"),
        (b"name: Mira\ncontext: A ferrywoman.\ngreeting: Hop in.\n", "YAML"),
        (b"", "empty"),
        (b"\x00\x01\x02\xff", "no character card"),
    ],
)
async def test_c46_what_holds_no_card_is_no_success(table: Table, raw: bytes, word: str) -> None:
    told = await _import(table, "card.json", raw or b" ")
    assert "is here" not in told
    assert word in told
    assert "no persona yet" in await table.use("persona list", table.channel())


async def test_c47_a_charx_archive_is_imported(table: Table) -> None:
    card = v3(
        assets=[{"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}]
    )
    told = await _import(table, "mira.charx", charx(card, assets__icon__mainDOTpng=picture("PNG")))
    assert "**Mira** is here, from a CHARX card" in told
    assert "its picture" in told


def _zeros() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", b"0" * 50_000_000)
    return target.getvalue()


_CARELESS = {
    "no card": (charx(None, readmeDOTtxt=b"nothing"), "holds no card.json"),
    "climbing entry": (charx(v3(), DOTDOT__DOTDOT__evilDOTtxt=b"evil"), "files outside of itself"),
    "bomb": (_zeros(), "would unpack to more than"),
    "encrypted": (encrypted(charx(v3())), "is encrypted"),
    "rar": (b"Rar!\x1a\x07\x01\x00" + b"\0" * 100, "is a RAR archive"),
    "cut": (charx(v3())[:-30], "is damaged"),
}


@pytest.mark.parametrize("kind", _CARELESS)
async def test_c47_careless_archives_are_refused_at_once(
    table: Table, running_bot: InProcess, kind: str
) -> None:
    raw, word = _CARELESS[kind]
    told = await _import(table, "card.charx", raw)
    assert word in told
    assert "is here" not in told
    assert "no persona yet" in await table.use("persona list", table.channel())
    assert not [path for path in running_bot.folder.parent.rglob("*") if "evil" in path.name]


_MACROS = v3(
    description="{{char}} knows {{user}} well. {{ Char }} waits. {{foo}}",
    personality="<BOT> likes <USER>.",
    scenario="{{user}} comes to {{char}}.",
    first_mes="{{user}} enters; {{char}} looks up.",
    mes_example="<START>\n{{user}}: Hello!\n{{char}}: Welcome to the ferry.",
    system_prompt="Play {{char}} for {{user}}. {{original}}",
    post_history_instructions="Stay {{char}}.",
    character_book={
        "entries": [
            {
                "keys": ["ferry"],
                "content": "{{char}} never moors for {{user}}.",
                "enabled": True,
                "insertion_order": 1,
                "extensions": {},
            }
        ]
    },
)


async def _played(table: Table) -> Channel:
    told = await _import(table, "mira.json", json.dumps(_MACROS).encode())
    assert "`{{foo}}`" in told
    inn = table.channel()
    await table.scene("Feast", inn)
    return inn


async def test_c48_macros_are_filled_for_whoever_speaks(table: Table) -> None:
    inn, anna, ben = await _played(table), table.member("Anna"), table.member("Ben")
    table.stage.model.set_script("reply", plain)
    greeting = await table.stage.discord.wait_for_message(inn, lambda one: "looks up" in one.content)
    assert "{{" not in greeting.content
    assert greeting.content.endswith("enters; Mira looks up.")
    assert "Mona" not in greeting.content  # nobody reads the name of whoever imported the card
    await table.talk(anna, inn, "Mira, when does the ferry go?", "Mira")
    alone = table.prompts()[-1].text
    for words in (
        "Mira knows Anna well. Mira waits.",
        "Mira likes Anna.",
        "Anna comes to Mira.",
        "Stay Mira.",
    ):
        assert words in alone
    assert "Mira never moors for Anna." in alone
    await table.talk(ben, inn, "Mira, and the ferry for me?", "Mira")
    both = table.prompts()[-1].text
    for prompt in (alone, both):
        assert "<START>" not in prompt
        for macro in ("{{char}}", "{{user}}", "{{ Char }}", "<BOT>", "<USER>", "{{original}}"):
            assert macro not in prompt
    for words in ("Mira knows the others well.", "Mira likes the others.", "the others comes to Mira."):
        assert words in both or words.replace("the others", "The others") in both
    assert "Mira never moors for the others." in both
    assert "Mona" not in both
    for name in ("turns", "memories"):
        kept = table.stage.stored(f"SELECT coalesce(text, '') FROM {name} WHERE place_id = ?", inn.id)
        assert kept
        assert not [text for (text,) in kept if "{{" in text]


async def test_c48_what_a_member_types_is_no_macro(table: Table) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, I write {{char}} and {{user}} and {{random:a,b}} here.", "Mira")
    assert "I write {{char}} and {{user}} and {{random:a,b}} here." in window(table.prompts()[-1])
    (row,) = table.stage.stored("SELECT text FROM turns WHERE place_id = ? AND persona_id IS NULL", inn.id)
    assert "{{char}} and {{user}}" in row[0]
