from __future__ import annotations

import base64
import io
import json
import random
import time
import zipfile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from bot.adapters.card_files import (
    read_card_file,
    read_lorebook_file,
    write_card_charx,
    write_card_json,
    write_card_png,
)
from bot.adapters.png_chunks import text_chunks
from bot.core.card_file import read_card
from bot.core.character import TRAITS, own_strategy, own_weight, traits
from bot.core.options import STRATEGIES
from bot.errors import UserFacing
from tests.card_parts import (
    LORE_ENTRY,
    apng,
    charx,
    chunk,
    encrypted,
    itext,
    packed,
    picture,
    png,
    text,
    v1,
    v2,
    v3,
    ztext,
)
from tests.loop_gaps import gaps


async def refused(raw: bytes, name: str = "card.png") -> str:
    """The sentence that a bad file is answered with."""
    with pytest.raises(UserFacing) as caught:
        await read_card_file(raw, name)
    return str(caught.value)


# ---------------------------------------------------------------- PNG
@pytest.mark.parametrize("make", [text, ztext, itext, lambda *a: itext(*a, packed=True)])
@pytest.mark.parametrize("keyword", [b"chara", b"ccv3", b"Chara"])
@pytest.mark.parametrize("place", ["before", "after"])
async def test_c42_c43_a_card_is_found_in_every_kind_of_text_chunk(
    make: Any, keyword: bytes, place: str
) -> None:
    made = make(keyword, packed(v2()))
    raw = png(made) if place == "after" else png(before=(made,), idats=3)
    card = await read_card_file(raw, "x.png")
    assert (card.data["name"], card.data["first_mes"]) == ("Mira", "Hop in.")
    assert card.report.mended == ()
    assert card.avatar is not None
    with Image.open(io.BytesIO(card.avatar)) as image:
        assert (image.size, image.getpixel((3, 3)), image.info) == ((8, 8), (255, 0, 0), {})


async def test_i07_the_newer_part_is_preferred_wherever_it_stands() -> None:
    two, three = text(b"chara", packed(v2("Two"))), text(b"ccv3", packed(v3("Three")))
    for raw in (png(two, three), png(three, two), png(two, before=(three,))):
        assert (await read_card_file(raw)).data["name"] == "Three"


async def test_a_broken_newer_part_leaves_the_older_one() -> None:
    raw = png(text(b"ccv3", b"!!! no base64"), text(b"chara", packed(v2("Two"))))
    card = await read_card_file(raw)
    assert card.data["name"] == "Two"
    assert "`ccv3`" in card.report.mended[0]


async def test_a_wrong_checksum_is_told_and_an_apng_shows_its_first_frame() -> None:
    body = b"chara\0" + packed(v2())
    card = await read_card_file(apng(chunk(b"tEXt", body, checksum=1)))
    assert "checksum" in card.report.mended[0]
    assert card.avatar is not None
    with Image.open(io.BytesIO(card.avatar)) as image:
        assert image.convert("RGB").getpixel((1, 1)) == (255, 0, 0)


async def test_base64_may_be_wrapped_unpadded_or_missing() -> None:
    value = packed(v2())
    wrapped = b"\n".join(value[at : at + 76] for at in range(0, len(value), 76)).rstrip(b"=")
    for one in (wrapped, json.dumps(v2()).encode()):
        assert (await read_card_file(png(text(b"chara", one)))).data["name"] == "Mira"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (png(), "no card in this picture"),
        (png(text(b"Comment", b"hello")), "no card in this picture"),
        (picture("JPEG"), "JPEG"),
        (picture("WEBP"), "WebP"),
        (picture("GIF"), "GIF"),
        (png(text(b"chara", b"%%%")), "no base64"),
        (png(text(b"chara", packed([1]))), "not a character card"),
        (png(text(b"chara", b"eyJuYW1l")), "not valid JSON"),
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\x00\x01\x02\xff", "no character card"),
        (b"Rar!\x1a\x07\x01\x00rest", "RAR"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"just words", "not valid JSON"),
        (b"{\n\n'name': 1}", "line 3"),
        (b"[" * 100_000, "nested too deep"),
        (json.dumps(v1(deep=eval("[" * 80 + "]" * 80))).encode(), "60 levels"),
        (b'{"name": "package", "version": "1.0"}', "Nothing of a character"),
        (b"name: Mira\ncontext: |\n  A ferrywoman.\ngreeting: Hop in.\n", "YAML"),
    ],
)
async def test_i09_what_is_no_card_gets_a_specific_answer(raw: bytes, words: str) -> None:
    assert words in await refused(raw)


async def test_a_cut_picture_still_gives_its_card() -> None:
    raw = png(before=(text(b"chara", packed(v2())),))
    card = await read_card_file(raw[: raw.index(b"IDAT") + 6])
    assert card.data["name"] == "Mira"
    assert card.avatar is None
    assert "picture" in card.report.mended[0]


# ---------------------------------------------------------------- limits
async def test_a_text_that_inflates_to_a_bomb_is_refused() -> None:
    assert "10 MiB" in await refused(png(ztext(b"chara", b" " * 50_000_000)))
    assert "10 MiB" in await refused(png(itext(b"ccv3", b"A" * 50_000_000, packed=True)))


async def test_too_many_bytes_or_pixels_are_named() -> None:
    assert "10 MiB" in await refused(b"x" * (10 * 1024 * 1024 + 1))
    card = await read_card_file(png(text(b"chara", packed(v2())), claimed=10_000))
    assert card.avatar is None
    assert "25,000,000" in card.report.mended[-1]


async def test_i13_a_very_large_card_is_read_quickly_and_off_the_event_loop() -> None:
    rng = random.Random(5)
    words = " ".join(
        rng.choice(("mill", "river", "rain", "ferry", "é")) + str(rng.random()) for _ in range(110_000)
    )
    entries = [{**LORE_ENTRY, "content": "x" * 9300, "id": number} for number in range(20)]
    card = v3(
        description=words[:22_000],
        creator_notes=f"<b>{words[:12_000]}</b>",
        character_book={"entries": entries, "extensions": {}},
        assets=[
            {"type": "x-sound", "uri": f"ccdefault:{number}", "name": str(number), "ext": "ogg"}
            for number in range(85)
        ],
        extensions={"bulk": words},
    )
    noise = Image.frombytes("RGB", (900, 900), rng.randbytes(900 * 900 * 3))
    target = io.BytesIO()
    noise.save(target, "PNG")
    raw = target.getvalue()[:-12] + text(b"ccv3", packed(card)) + chunk(b"IEND", b"")
    assert 5_000_000 < len(raw) < 10_000_000
    took, longest = [], []
    for _ in range(3):
        began = time.perf_counter()
        async with gaps() as found:
            read = await read_card_file(raw)
        took.append(time.perf_counter() - began)
        longest.append(max(found))
    assert min(took) < 3.0
    assert min(longest) < 1.0
    assert (read.report.lore_entries, read.report.assets) == (20, 85)
    assert read.avatar is not None
    assert len(read.avatar) <= 256 * 1024


# ---------------------------------------------------------------- JSON
@pytest.mark.parametrize("name", ["card.json", "card.txt", "card", "card.png"])
@pytest.mark.parametrize("card", [v1(), v2(), v3(), {"char_name": "Mira", "char_greeting": "Hop in."}])
async def test_c46_json_of_every_version_under_every_ending(card: dict[str, Any], name: str) -> None:
    read = await read_card_file(json.dumps(card).encode(), name)
    assert (read.data["name"], read.data["first_mes"]) == ("Mira", "Hop in.")
    assert (read.report.kind, read.report.greetings) == ("JSON", 1)
    assert read.report.sizes["first_mes"] == 7


async def test_byte_order_marks_and_utf16_are_read() -> None:
    raw = json.dumps(v1(name="Élodie"), ensure_ascii=False)
    for encoded in (raw.encode("utf-8-sig"), raw.encode("utf-16")):
        assert (await read_card_file(encoded)).data["name"] == "Élodie"


async def test_c44_nulls_are_absent_and_wrong_kinds_are_told() -> None:
    odd = v2(
        character_book=None,
        tags=None,
        system_prompt=None,
        extensions=None,
        first_mes=7,
        alternate_greetings="x",
    )
    card = await read_card_file(json.dumps(odd).encode())
    assert (card.data["tags"], card.data["system_prompt"], card.data["extensions"]) == ([], "", {})
    assert "character_book" not in card.data
    assert [note.split("`")[1] for note in card.report.mended] == ["first_mes", "alternate_greetings"]


async def test_c44_what_has_a_wrong_kind_is_used_where_its_meaning_is_plain() -> None:
    odd = v2(
        description=["A ferrywoman.", "Old."],
        first_mes=7,
        scenario={"x": 1},
        alternate_greetings="Again?",
        tags="calm, river,",
        group_only_greetings={},
    )
    card = await read_card_file(json.dumps(odd).encode())
    used = ("description", "first_mes", "alternate_greetings", "tags")
    assert [card.data[key] for key in used] == ["A ferrywoman.\nOld.", "7", ["Again?"], ["calm", "river"]]
    assert (card.data["scenario"], card.data["group_only_greetings"]) == ("", [])
    assert {note.split("`")[1]: note.split(" and ")[1] for note in card.report.mended} == {
        **dict.fromkeys(used, "was read as one."),
        **dict.fromkeys(("scenario", "group_only_greetings"), "was left out."),
    }


@pytest.mark.parametrize(
    ("card", "name"),
    [
        (v2(""), "Old Mira"),
        (v2("", root={"name": "Root"}), "Root"),
        (v2("  \t", root={"name": " "}), "Old Mira"),
        (v1(name=None), "Old Mira"),
    ],
)
async def test_c45_a_missing_name_comes_from_the_root_or_the_file(card: dict[str, Any], name: str) -> None:
    read = await read_card_file(json.dumps(card).encode(), "Old_Mira.json")
    assert read.data["name"] == name
    assert f"“{name}”" in read.report.mended[0]
    assert "no name" in await refused(json.dumps(v1(name="")).encode(), "")


async def test_i03_i04_books_assets_dates_and_root_fields_are_kept() -> None:
    book = {
        "name": "World",
        "entries": [
            LORE_ENTRY,
            {**LORE_ENTRY, "keys": [], "constant": True},
            {**LORE_ENTRY, "enabled": False},
        ],
    }
    card = v3(
        root={"first_mes": "old", "talkativeness": "0.5", "fav": True, "chat": "Mira - 2023"},
        first_mes="new\r\nline",
        character_book=book,
        assets=[{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
        nickname="",
        creation_date=1_700_000_000,
        modification_date=1_700_000_001,
        extensions={
            "talkativeness": 0.5,
            "fav": False,
            "world": "W",
            "depth_prompt": {"depth": 4, "prompt": "p"},
        },
        source=["x"],
        creator_notes_multilingual={"fr": "bonjour"},
    )
    read = await read_card_file(json.dumps(card).encode())
    assert read.data["first_mes"] == "new\nline"
    assert read.report.lore_entries == 3
    again = json.loads(await write_card_json(read.data))
    assert {key: again[key] for key in ("talkativeness", "fav", "chat")} == {
        "talkativeness": "0.5",
        "fav": True,
        "chat": "Mira - 2023",
    }
    for key in (
        "assets",
        "creation_date",
        "modification_date",
        "extensions",
        "source",
        "creator_notes_multilingual",
    ):
        assert again["data"][key] == card["data"][key]
    assert again["data"]["character_book"]["entries"] == book["entries"]


async def test_i11_a_lorebook_is_told_apart_and_read_as_one() -> None:
    world = {"entries": {"0": {"uid": 0, "key": ["ferry"], "content": "x", "order": 100, "disable": False}}}
    third = {"spec": "lorebook_v3", "data": {"name": "World", "description": "d", "entries": [LORE_ENTRY]}}
    for book in (world, third):
        raw = json.dumps(book).encode()
        assert "/lore import" in await refused(raw)
        assert await read_lorebook_file(raw) == book
    card = png(text(b"ccv3", packed(v3(character_book={"entries": [LORE_ENTRY]}))))
    assert (await read_lorebook_file(card))["entries"] == [LORE_ENTRY]
    with pytest.raises(UserFacing, match="without a lorebook"):
        await read_lorebook_file(json.dumps(v3()).encode())
    for neither in (b"{}", b"[]", b'{"name": "package", "version": "1.0"}'):
        with pytest.raises(UserFacing, match="neither a lorebook"):
            await read_lorebook_file(neither)


async def test_c48_unknown_macros_are_named_wherever_they_stand() -> None:
    entry = {**LORE_ENTRY, "content": "{{lastMessage}}"}
    card = v3(
        description="{{char}} {{ USER }} {{foo}} <BOT>",
        first_mes="{{user}} {{roll:2d6}} {{Foo::x}} {{foo}}",
        creator_notes="{{unseen}}",
        character_book={"entries": [entry]},
    )
    report = (await read_card_file(json.dumps(card).encode())).report
    assert report.unknown_macros == ("{{foo}}", "{{Foo::x}}", "{{lastMessage}}")


async def test_characters_that_no_text_holds_are_replaced() -> None:
    raw = b'{"name": "Mi\\ud800ra\\u0000", "first_mes": "hi", "x": NaN}'
    card = await read_card_file(raw)
    assert card.data["name"] == "Mi?ra"
    assert "x" not in card.data
    assert len(card.report.mended) == 2


# ---------------------------------------------------------------- CHARX
ICON = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}


async def test_i10_an_archive_gives_its_card_and_icon() -> None:
    raw = charx(v3(assets=[ICON]), assets__icon__mainDOTpng=png(side=5), assets__soundDOTogg=b"x")
    for archive in (raw, picture("JPEG") + raw):
        card = await read_card_file(archive, "x.charx")
        assert (card.data["name"], card.report.kind) == ("Mira", "CHARX")
        assert card.data["assets"] == [ICON]
        assert card.avatar is not None
        assert "1 other files (pictures, sounds) are kept" in card.report.mended[-1]
        assert card.archive == archive


async def test_an_archive_comes_back_whole_with_the_present_card_and_picture() -> None:
    came = charx(v3(assets=[ICON]), assets__icon__mainDOTpng=png(side=5), assets__soundDOTogg=b"la la")
    first = await read_card_file(came)
    went = await write_card_charx({**first.data, "first_mes": "Get in."}, first.avatar, first.archive)
    with zipfile.ZipFile(io.BytesIO(went)) as archive, zipfile.ZipFile(io.BytesIO(came)) as before:
        assert sorted(archive.namelist()) == sorted(before.namelist())
        for name in ("assets/sound.ogg", "assets/icon/main.png"):
            assert archive.read(name) == before.read(name)
    again = await read_card_file(went)
    assert again.data == {**first.data, "first_mes": "Get in."}
    assert again.avatar == first.avatar

    other = (await read_card_file(png(text(b"ccv3", packed(v3())), side=9))).avatar
    assert other != first.avatar
    repainted = await read_card_file(await write_card_charx(again.data, other, again.archive))
    assert repainted.avatar == other
    assert repainted.data == again.data


async def test_a_card_of_another_kind_leaves_as_an_archive_too() -> None:
    first = await read_card_file(png(text(b"ccv3", packed(v3())), side=9))
    again = await read_card_file(await write_card_charx(first.data, first.avatar, None))
    assert (again.data, again.avatar, again.archive) == (first.data, first.avatar, None)


async def test_an_archive_with_a_damaged_file_gives_its_card_only() -> None:
    raw = charx(v3(), assets__soundDOTogg=b"MARK" * 50)
    start = raw.index(b"assets/sound.ogg") + len("assets/sound.ogg") + 1
    card = await read_card_file(raw[:start] + b"\xff\xff" + raw[start + 2 :])
    assert card.data["name"] == "Mira"
    assert card.archive is None
    assert "damaged" in card.report.mended[-1]


async def test_an_archive_that_nobody_could_import_again_is_not_written() -> None:
    noise = random.Random(7).randbytes(10 * 2**20 - 20_000)
    came = await read_card_file(charx(v3(), assets__soundDOTogg=noise))
    with pytest.raises(UserFacing, match="format:png"):
        await write_card_charx({**came.data, "description": noise[:40_000].hex()}, None, came.archive)


async def test_a_default_icon_or_an_address_fetches_nothing() -> None:
    default = charx(v3(assets=[{**ICON, "uri": "ccdefault:"}]), assets__icon__mainDOTpng=png(side=5))
    assert (await read_card_file(default)).avatar is not None
    web = charx(v3(assets=[{**ICON, "uri": "https://example.org/x.png"}]))
    assert (await read_card_file(web)).avatar is None


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (charx(None, readmeDOTtxt=b"x"), "no card.json"),
        (charx(v3(), DOTDOT__DOTDOT__x=b"x"), "outside"),
        (charx(v3(), **{"__etc__passwd": b"x"}), "outside"),
        (charx(v3(), zeros=b"\0" * 50_000_000), "refused"),
        (encrypted(charx(v3())), "encrypted"),
        (charx(v3())[:-30], "damaged"),
        (b"PK\x03\x04 and nothing else", "damaged"),
    ],
)
async def test_c47_bad_archives_are_refused_at_once(raw: bytes, words: str) -> None:
    began = time.perf_counter()
    assert words in await refused(raw, "x.charx")
    assert time.perf_counter() - began < 5.0


async def test_a_card_in_an_archive_has_its_limit_too() -> None:
    raw = charx(v3(description="x" * 12_000_000))
    assert "10 MiB" in await refused(raw)


# ---------------------------------------------------------------- there and back
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
TEXTS = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "creator_notes",
)
OWN = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(TRAITS, WORDS | st.lists(WORDS) | VALUES),
        "recall_strategy": st.sampled_from(STRATEGIES) | VALUES,
        "emotion_weight": st.floats(0, 0.5) | VALUES,
        "temperament": st.lists(st.integers(1, 10), min_size=8, max_size=8),
    },
)
CARDS = st.builds(
    lambda texts, lists, more, root, book: {
        **root,
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {**more, **texts, **lists, **book},
    },
    st.fixed_dictionaries({"name": WORDS.filter(str.strip), **dict.fromkeys(TEXTS, WORDS)}),
    st.fixed_dictionaries(
        {
            "alternate_greetings": st.lists(WORDS),
            "tags": st.lists(WORDS),
            "extensions": st.dictionaries(WORDS, VALUES, max_size=3)
            | st.fixed_dictionaries({"troupe": OWN | VALUES, "else": VALUES}),
        }
    ),
    st.dictionaries(WORDS, VALUES, max_size=3),
    st.dictionaries(WORDS, VALUES, max_size=3),
    st.just({})
    | st.fixed_dictionaries(
        {
            "character_book": st.fixed_dictionaries(
                {"entries": st.lists(st.dictionaries(WORDS, VALUES, max_size=3), max_size=3)}
            )
        }
    ),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CARDS)
async def test_importing_an_export_gives_the_same_card(card: dict[str, Any]) -> None:
    data, _ = read_card(card)
    for key, value in card["data"]["extensions"].items():
        assert data["extensions"][key] == value or key == "troupe"
    for raw in (await write_card_json(data), await write_card_png(data, None)):
        back = (await read_card_file(raw, "other name.png")).data
        assert back == data
        assert (traits(back), own_strategy(back), own_weight(back)) == (
            traits(data),
            own_strategy(data),
            own_weight(data),
        )


@pytest.mark.parametrize("side", [40, 600, 1500])
async def test_the_picture_of_an_export_comes_back_the_same(side: int) -> None:
    noise = Image.frombytes("RGB", (side, side // 2), random.Random(1).randbytes(side * (side // 2) * 3))
    target = io.BytesIO()
    noise.save(target, "PNG")
    first = await read_card_file(target.getvalue()[:-12] + text(b"chara", packed(v2())) + chunk(b"IEND", b""))
    assert first.avatar is not None
    again = await read_card_file(await write_card_png(first.data, first.avatar))
    assert (again.avatar, again.data) == (first.avatar, first.data)
    exported = await write_card_png(again.data, again.avatar)
    assert len(text_chunks(exported, ("chara", "ccv3"))) == 2


async def test_exports_have_what_other_frontends_require() -> None:
    data, _ = read_card(v1(character_book={"entries": {"0": LORE_ENTRY}}))
    raw = await write_card_png(data, None)
    cards = {
        one.keyword: json.loads(base64.b64decode(one.text)) for one in text_chunks(raw, ("chara", "ccv3"))
    }
    assert (cards["chara"]["spec"], cards["chara"]["spec_version"]) == ("chara_card_v2", "2.0")
    assert (cards["ccv3"]["spec"], cards["ccv3"]["spec_version"]) == ("chara_card_v3", "3.0")
    for key in ("name", "description", "personality", "scenario", "first_mes", "mes_example"):
        assert isinstance(cards["chara"][key], str)
    for card in cards.values():
        texts = (
            "creator_notes",
            "system_prompt",
            "post_history_instructions",
            "creator",
            "character_version",
        )
        assert all(isinstance(card["data"][key], str) for key in texts)
        assert all(
            isinstance(card["data"][key], list)
            for key in ("alternate_greetings", "tags", "group_only_greetings")
        )
        assert isinstance(card["data"]["extensions"], dict)
        assert card["data"]["character_book"] == {"entries": [LORE_ENTRY], "extensions": {}}
