"""The words of a story follow its language: forms are found, and a change of language loses nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import AsyncMock

import pytest

from bot.adapters.stemmers import Stemmers
from bot.core.types import Memory, MemoryKind
from bot.core.word_forms import Stem
from bot.engine.story_words import StoryWords
from bot.errors import StorageError
from tests.core.test_languages import TALK
from tests.engine.gates import Held, steps
from tests.engine.tongues import MARKED, tongue

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
STORY = 1


class Texts:
    """A store of memories that holds one story."""

    def __init__(self) -> None:
        self.kept: dict[int, Memory] = {}
        self.read = 0

    def tell(self, *texts: str) -> None:
        for text in texts:
            number = len(self.kept) + 1
            self.kept[number] = memory(number, text)

    async def of_story(self, story_id: int, *, after_id: int, limit: int) -> list[Memory]:
        page = [one for one in self.kept.values() if one.id > after_id][:limit]
        self.read += len(page)
        return page

    async def by_ids(self, memory_ids: Sequence[int]) -> list[Memory]:
        return [self.kept[one] for one in memory_ids if one in self.kept]


def memory(number: int, text: str) -> Memory:
    return Memory(
        id=number,
        space_id=1,
        place_id=1,
        story_id=STORY,
        scene_id=1,
        kind=MemoryKind.TURN,
        text=text,
        speaker="Ana",
        created_at=NOON + timedelta(minutes=number),
        turn_id=number,
        audience_id=1,
        witnesses=(1,),
    )


@pytest.fixture
def texts() -> Texts:
    return Texts()


@pytest.fixture
async def words(texts: Texts) -> AsyncIterator[StoryWords]:
    made = StoryWords(memories=texts, stemmer_of=Stemmers().of)  # type: ignore[arg-type]
    yield made
    await made.close()


async def found(words: StoryWords, query: str, audiences: Collection[int] = (1,)) -> list[int]:
    hits, _ = await words.search(STORY, query, place_id=1, audiences=audiences, limit=10)
    own = {int(number): float(score) for number, score in zip(hits.ids, hits.bm25, strict=True) if score > 0}
    return sorted(own, key=lambda number: -own[number])


@pytest.mark.parametrize("language", MARKED)
async def test_a_marked_memory_is_found_first_by_other_forms_of_its_words(
    texts: Texts, words: StoryWords, language: str
) -> None:
    told = tongue(language)
    texts.tell(*told.talk[:12], told.marked, *told.talk[12:])
    assert (await found(words, told.asked))[0] == 13


async def test_without_the_language_another_form_would_be_missed(texts: Texts) -> None:
    told = tongue("ru")
    texts.tell(told.marked, *told.talk)
    plain = StoryWords(memories=texts)  # type: ignore[arg-type]
    cut = StoryWords(memories=texts, stemmer_of=Stemmers().of)  # type: ignore[arg-type]
    assert await found(cut, "мечом") == [1]
    assert await found(plain, "мечом") == []
    assert await found(plain, "мельницам") == [1], "its beginning is long enough"
    await plain.close()
    await cut.close()


async def test_a_story_that_turns_out_to_be_in_another_language_is_read_again(
    texts: Texts, words: StoryWords
) -> None:
    texts.tell(*[TALK["en"]] * 20, "Das Schwert liegt im Brunnen.")
    assert await found(words, "Schwertern") == []
    texts.tell(*[TALK["de"]] * 79)
    assert await found(words, "Schwertern") == [21]
    assert len(await found(words, "castle")) == 10
    read = texts.read
    texts.tell("Noch ein Brunnen.")
    assert await found(words, "Brunnens") == [101, 21]
    assert texts.read == read + 1


async def test_what_was_edited_or_deleted_is_cut_in_the_storys_language_too(
    texts: Texts, words: StoryWords
) -> None:
    texts.tell(*[TALK["de"]] * 25, "Ein Drache.", "Ein Brunnen.")
    assert await found(words, "Drachen") == [26]
    texts.kept[26] = replace(texts.kept[26], text="Zwei Schwerter.")
    del texts.kept[27]
    words.forget([26, 27])
    assert await found(words, "Drachen") == []
    assert await found(words, "Schwert") == [26]
    assert await found(words, "Brunnen") == []


async def test_a_restart_cuts_words_as_before(texts: Texts, words: StoryWords) -> None:
    for text in [*[TALK["fr"]] * 30, "Les épées.", *[TALK["en"]] * 30]:
        texts.tell(text)
        await found(words, "épée")
    grown = await found(words, "épée")
    words.drop()
    assert await found(words, "épée") == grown == [31]


async def test_a_story_is_read_before_it_is_searched(texts: Texts, words: StoryWords) -> None:
    texts.tell(*[f"Line {number} of the night." for number in range(40)])
    words.read_soon(STORY)
    async with asyncio.timeout(30):
        while any(task.get_name() == f"read the words of story {STORY}" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.005)
    assert texts.read == 40
    words.read_soon(STORY)
    hits, _ = await words.search(STORY, "night", place_id=1, audiences=(1,), limit=5)
    assert len(hits.ids) == 5
    assert texts.read == 40


async def test_what_is_being_read_ends_with_the_words(texts: Texts) -> None:
    made = StoryWords(memories=texts, stemmer_of=Stemmers().of)  # type: ignore[arg-type]
    texts.tell("The night is long.")
    made.read_soon(STORY)
    (task,) = [task for task in asyncio.all_tasks() if task.get_name().startswith("read the words")]
    await made.close()
    assert task.cancelled()


async def test_a_search_that_is_given_up_leaves_no_words_of_what_was_deleted(
    texts: Texts, words: StoryWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts.tell("The dragon sleeps.", "The well is deep.")
    assert await found(words, "dragon") == [1]
    del texts.kept[1]
    words.forget([1])
    held = Held(monkeypatch, texts, "by_ids")
    given_up = asyncio.create_task(found(words, "dragon"))
    await held.reached()
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    held.go.set()
    assert await found(words, "dragon") == []


async def test_a_store_that_fails_once_leaves_no_words_of_what_was_edited(
    texts: Texts, words: StoryWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts.tell("The dragon sleeps.", "The well is deep.")
    assert await found(words, "dragon") == [1]
    texts.kept[1] = replace(texts.kept[1], text="The mill burns.")
    words.forget([1])
    with monkeypatch.context() as patch:
        patch.setattr(texts, "by_ids", AsyncMock(side_effect=StorageError("locked")))
        with pytest.raises(StorageError):
            await found(words, "dragon")
    assert await found(words, "dragon") == []
    assert await found(words, "mill") == [1]


async def test_a_reading_that_is_given_up_misses_nothing_when_the_language_turns_out_another(
    texts: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    stemming, go_on = threading.Event(), threading.Event()

    def slowly(language: str) -> Stem | None:
        stemming.set()
        assert go_on.wait(10)
        return Stemmers().of(language)

    made = StoryWords(memories=texts, stemmer_of=slowly)  # type: ignore[arg-type]
    texts.tell("The old sword.", "The dragon.")
    assert await found(made, "dragon") == [2]
    texts.tell(*[TALK["de"]] * 60)
    given_up = asyncio.create_task(made.read(STORY))
    assert await asyncio.to_thread(stemming.wait, 10)
    given_up.cancel()
    again = asyncio.create_task(found(made, "dragon"))
    await steps()
    go_on.set()
    assert await again == [2]
    await made.close()


async def test_a_month_is_found_by_its_name_in_the_storys_language(texts: Texts, words: StoryWords) -> None:
    texts.tell(*[TALK["de"]] * 25)
    texts.kept[7] = replace(texts.kept[7], created_at=NOON - timedelta(days=60))
    assert (await found(words, "Was war im März?"))[0] == 7
    assert 7 not in await found(words, "Was war im Mai?")


async def test_the_stories_longest_unused_are_let_go_of(
    texts: Texts, words: StoryWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.engine.story_words.KEEP_ROWS", 6)
    monkeypatch.setattr("bot.engine.story_words.LOOK_AFTER", 2)
    texts.tell("A ship.", "A rope.")  # each story reads the same two
    for story_id in (1, 2, 3):
        await words.read(story_id)
    await words.read(1)  # used again
    await words.read(4)
    assert texts.read == 8
    await words.read(1)
    assert texts.read == 8
    await words.read(2)
    assert texts.read == 10
