"""/persona, used as a moderator uses it in Discord."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.cogs.conftest import Stage
from tests.discord_server.fixtures import LoggedErrors

WORDS = ("name", "description", "personality", "greeting", "examples")
TYPED = {word: f"the {word}" for word in WORDS} | {"name": "Mira"}


async def test_create_asks_for_the_five_texts_by_their_words(stage: Stage) -> None:
    form = await (await stage.moderator.slash("persona create", stage.channel)).modal()
    assert tuple(form.fields) == WORDS
    answer = await (await stage.moderator.submit_modal(form, TYPED)).answer()
    assert answer.ephemeral
    assert "Mira" in answer.content
    assert "/scene start" in answer.content
    (persona,) = stage.troupe.personas.kept.values()
    assert (persona.space_id, persona.name) == (stage.guild.id, "Mira")
    assert persona.card == {
        "description": "the description",
        "personality": "the personality",
        "first_mes": "the greeting",
        "mes_example": "the examples",
    }
    assert persona.created_by == stage.moderator.id


async def test_a_refused_form_gives_back_what_was_typed(stage: Stage) -> None:
    stage.troupe.personas.add(stage.guild.id, "mira")
    form = await (await stage.moderator.slash("persona create", stage.channel)).modal()
    answer = await (await stage.moderator.submit_modal(form, TYPED)).answer()
    assert "already" in answer.content
    assert b"the description" in answer.attachments[0].content


async def test_edit_shows_present_values_and_stores_only_changes(stage: Stage) -> None:
    persona = stage.troupe.personas.add(stage.guild.id, "Mira", description="old", first_mes="Hi.")
    form = await (await stage.moderator.slash("persona edit", stage.channel, persona="mira")).modal()
    assert form.fields["description"]["value"] == "old"
    assert form.fields["greeting"]["value"] == "Hi."
    answer = await (await stage.moderator.submit_modal(form, {"description": "new"})).answer()
    assert "description" in answer.content
    assert stage.troupe.personas.kept[persona.id].card == {"description": "new", "first_mes": "Hi."}


async def test_the_second_page_holds_further_texts(stage: Stage) -> None:
    persona = stage.troupe.personas.add(stage.guild.id, "Mira", scenario="A mill.")
    asked = await stage.moderator.slash("persona edit", stage.channel, persona="Mira", page="more")
    form = await asked.modal()
    assert form.fields["scenario"]["value"] == "A mill."
    await (await stage.moderator.submit_modal(form, {"system_prompt": "Be brief."})).answer()
    assert stage.troupe.personas.kept[persona.id].card["system_prompt"] == "Be brief."


async def test_a_text_too_long_for_a_form_travels_as_a_file(stage: Stage) -> None:
    long = "A mill by the river. " * 300
    persona = stage.troupe.personas.add(stage.guild.id, "Mira", description=long, personality="calm")
    asked = await stage.moderator.slash("persona edit", stage.channel, persona="Mira")
    offered = await asked.answer()
    assert [item.filename for item in offered.attachments] == ["description.txt"]
    assert offered.attachments[0].content.decode() == long
    form = await (await stage.moderator.click(offered, "Open the form")).modal()
    assert set(form.fields) == set(WORDS)
    longer = (long + "\nAnd a cat.").encode()
    done = await stage.moderator.submit_modal(
        form, {}, files={"description": ("new.txt", longer.replace(b"\n", b"\r\n"))}
    )
    assert "description" in (await done.answer()).content
    assert stage.troupe.personas.kept[persona.id].card["description"] == longer.decode()
    assert stage.troupe.personas.kept[persona.id].card["personality"] == "calm"


async def test_leaving_the_upload_empty_keeps_the_long_text(stage: Stage) -> None:
    long = "x" * 4001
    persona = stage.troupe.personas.add(stage.guild.id, "Mira", description=long)
    offered = await (await stage.moderator.slash("persona edit", stage.channel, persona="Mira")).answer()
    form = await (await stage.moderator.click(offered, "Open the form")).modal()
    answer = await (await stage.moderator.submit_modal(form, {})).answer()
    assert "Nothing changed" in answer.content
    assert stage.troupe.personas.kept[persona.id].card["description"] == long


async def test_a_changed_description_offers_to_renew_the_samples(stage: Stage) -> None:
    persona = stage.troupe.personas.add(stage.guild.id, "Mira", description="old")
    stage.troupe.personas.sampled.add(persona.id)
    form = await (await stage.moderator.slash("persona edit", stage.channel, persona="Mira")).modal()
    answer = await (await stage.moderator.submit_modal(form, {"description": "new"})).answer()
    clicked = await stage.moderator.click(answer, "Renew the samples")
    await clicked.answer()
    assert stage.troupe.personas.renewed == [persona.id]


async def test_a_picture_is_prepared_and_stored(stage: Stage) -> None:
    persona = stage.troupe.personas.add(stage.guild.id, "Mira")
    target = io.BytesIO()
    Image.new("RGB", (600, 400), "red").save(target, "JPEG")
    asked = await stage.moderator.slash(
        "persona edit", stage.channel, persona="Mira", avatar=("mira.jpg", target.getvalue())
    )
    assert "new picture" in (await asked.answer()).content
    stored = stage.troupe.personas.kept[persona.id].avatar
    assert stored is not None
    with Image.open(io.BytesIO(stored)) as image:
        assert (image.format, image.size) == ("PNG", (128, 128))
    refused = await stage.moderator.slash(
        "persona edit", stage.channel, persona="Mira", avatar=("x.png", b"no picture")
    )
    assert "no picture I can read" in (await refused.answer()).content


async def test_list_and_show(stage: Stage) -> None:
    empty = await (await stage.moderator.slash("persona list", stage.channel)).answer()
    assert "/persona create" in empty.content
    stage.troupe.personas.add(stage.guild.id, "Mira", description="Keeps the mill.")
    stage.troupe.personas.add(1, "Stranger")
    listed = await (await stage.moderator.slash("persona list", stage.channel)).answer()
    assert listed.content == "**Mira** – Keeps the mill."
    shown = await (await stage.moderator.slash("persona show", stage.channel, persona="MIRA")).answer()
    assert "Keeps the mill." in shown.content


async def test_show_gives_a_very_long_persona_whole_as_a_file(stage: Stage) -> None:
    text = "\n".join(f"line {number} of the description" for number in range(1000))
    stage.troupe.personas.add(stage.guild.id, "Mira", description=text)
    shown = await (await stage.moderator.slash("persona show", stage.channel, persona="Mira")).answer()
    assert text in shown.attachments[0].content.decode()


async def test_delete_asks_first(stage: Stage) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    asked = await (await stage.moderator.slash("persona delete", stage.channel, persona="Mira")).answer()
    assert stage.troupe.personas.kept
    clicked = await stage.moderator.click(asked, "Delete")
    assert "deleted" in (await clicked.answer()).content
    assert not stage.troupe.personas.kept


async def test_completion_offers_at_most_25_and_never_fails(stage: Stage) -> None:
    for number in range(40):
        stage.troupe.personas.add(stage.guild.id, f"Mira {number}")
    stage.troupe.personas.add(stage.guild.id, "Zoe")
    choices = await stage.moderator.autocomplete(
        "persona show", stage.channel, option="persona", value="mira"
    )
    assert len(choices) == 25
    choices = await stage.moderator.autocomplete("persona show", stage.channel, option="persona", value="zo")
    assert [choice["value"] for choice in choices] == ["Zoe"]
    stage.troupe.personas.slow_s = 30.0
    assert await stage.moderator.autocomplete("persona show", stage.channel, option="persona", value="") == []


@pytest.mark.parametrize("command", ["persona create", "persona edit", "persona delete"])
async def test_a_plain_member_is_refused_in_code_as_well(stage: Stage, command: str) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    values = {} if command == "persona create" else {"persona": "Mira"}
    asked = await stage.member.slash(command, stage.channel, ignore_defaults=True, **values)
    answer = await asked.answer()
    assert answer.ephemeral
    assert "moderator" in answer.content
    assert stage.troupe.personas.kept


async def test_a_moderator_role_is_enough(stage: Stage) -> None:
    role = stage.server.add_role(stage.guild, "Staff")
    staff = stage.server.add_member(stage.guild, "Sam", roles=[role])
    stage.troupe.options.texts[(0, "moderator_roles")] = f"<@&{role.id}>"
    asked = await staff.slash("persona create", stage.channel, ignore_defaults=True)
    assert (await asked.modal()).title == "New persona"


async def test_c18_in_a_direct_message_everybody_has_their_own_personas(stage: Stage) -> None:
    channel = stage.server.dm(stage.member)
    form = await (await stage.member.slash("persona create", channel)).modal()
    await (await stage.member.submit_modal(form, TYPED)).answer()
    assert [persona.space_id for persona in stage.troupe.personas.kept.values()] == [channel.id]


@pytest.mark.logs_exceptions
async def test_a_failure_of_ours_ends_in_one_calm_sentence(stage: Stage, logged_errors: LoggedErrors) -> None:
    async def broken(space_id: int) -> list[object]:
        raise ValueError("secret detail")

    stage.troupe.personas.all = broken  # type: ignore[method-assign,assignment]
    answer = await (await stage.moderator.slash("persona list", stage.channel)).answer()
    (record,) = logged_errors.take()
    reference = answer.content.split("`")[1]
    assert reference in record.getMessage()
    assert "secret" not in answer.content
