"""What enters the prompt: nothing shown, nothing twice, nothing beyond the budget, in order of time."""

from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.candidates import Recalled
from bot.core.choosing import ALIKE, Choice, choose

START = datetime(2023, 5, 1, tzinfo=UTC)


def item(number: int, text: str = "", speaker: str = "Mira", day: int | None = None) -> Recalled:
    return Recalled(
        memory_id=number,
        text=text or f"something unlike the others {number}",
        speaker=speaker,
        created_at=START + timedelta(days=-number if day is None else day),
        kind="turn",
        finding=1 / number,
        words=0.0,
        meaning=0.0,
        d_sem=None,
        d_emo=None,
        weight=0.0,
        score=1 / number,
        rank=number,
    )


def chosen(items: list[Recalled], budget: int = 100, each: int = 10, **rules: object) -> Choice:
    return choose(items, budget=budget, cost=lambda _: each, **rules)  # type: ignore[arg-type]


def ids(items: tuple[Recalled, ...]) -> list[int]:
    return [one.memory_id for one in items]


MANY = [item(n) for n in range(1, 16)]


def test_the_best_fill_the_budget_and_are_sorted_by_time() -> None:
    choice = chosen(MANY, budget=35)
    assert ids(choice.items) == [3, 2, 1]
    assert choice.tokens == 30


def test_the_next_best_are_named_as_left_out() -> None:
    choice = chosen(MANY, budget=35)
    assert ids(choice.left_out)[:3] == [4, 5, 6]
    assert len(choice.left_out) == 8


def test_a_long_memory_makes_room_for_shorter_ones() -> None:
    prices = {1: 10, 2: 500, 3: 10}
    choice = choose(MANY[:3], budget=30, cost=lambda one: prices[one.memory_id])
    assert ids(choice.items) == [3, 1]
    assert ids(choice.left_out) == [2]


def test_no_more_than_so_many() -> None:
    assert len(chosen(MANY, budget=10_000, most=4).items) == 4


def test_no_budget_chooses_nothing() -> None:
    assert chosen(MANY, budget=0).items == ()
    assert chosen([]) == Choice()


def test_what_the_window_shows_is_left_away() -> None:
    assert ids(chosen(MANY[:3], shown={2}).items) == [3, 1]
    texts = [("Mira", "Something unlike the others 2!")]
    assert ids(chosen(MANY[:3], shown_texts=texts).items) == [3, 1]


def test_what_rests_is_left_away() -> None:
    assert ids(chosen(MANY[:3], cooling={1}).items) == [3, 2]


def test_of_two_equal_texts_the_newer_stands() -> None:
    choice = chosen([item(1, "I love you.", day=1), item(2, "I LOVE you!", day=2)])
    assert ids(choice.items) == [2]


def test_the_same_words_of_another_speaker_are_no_repetition() -> None:
    assert len(chosen([item(1, "I love you."), item(2, "I love you.", speaker="Tom")]).items) == 2


def test_a_nearly_equal_text_is_a_repetition() -> None:
    first = "we walked along the river to the old mill and ate bread there at noon"
    second = "We walked along the river to the old mill, and ate bread there at noon today."
    assert ids(chosen([item(1, first, day=5), item(2, second, day=1)]).items) == [1]


def test_a_note_without_a_speaker_may_repeat_a_turn() -> None:
    text = "the ring lies under the third step of the mill"
    assert len(chosen([item(1, text), item(2, text, speaker="")]).items) == 1


def test_another_number_or_name_is_no_repetition() -> None:
    three = "I have exactly 3 cats living in my house by the river"
    four = "I have exactly 4 cats living in my house by the river"
    assert len(chosen([item(1, three), item(2, four)]).items) == 2
    assert len(chosen([item(1, "my favourite is red"), item(2, "my favourite is blue")]).items) == 2


def test_texts_without_words_are_compared_as_they_are() -> None:
    assert len(chosen([item(1, "🙂"), item(2, "🔥"), item(3, "🔥")]).items) == 2


def says_the_same(one: list[str], other: list[str]) -> bool:
    """Every pair compared, as plainly as it can be written."""
    if one == other:
        return True
    mine, theirs = set(one), set(other)
    if min(len(mine), len(theirs)) < 5:
        return False
    return len(mine & theirs) >= ALIKE * len(mine | theirs)


@given(st.randoms(use_true_random=False), st.integers(min_value=2, max_value=12))
@settings(max_examples=60, deadline=None)
def test_repetitions_are_found_as_by_comparing_every_pair(random: Random, length: int) -> None:
    vocabulary = ["oak", "harbour", "lantern", "moon", "wolf", "bread", "a", "io", "xylophone", "rook", "emu"]
    base = [random.choices(vocabulary, k=length) for _ in range(4)]
    texts = [[*random.choice(base)] for _ in range(25)]
    for words in texts:
        for _ in range(random.randint(0, 2)):
            words[random.randrange(len(words))] = random.choice(vocabulary)
    shown = texts[20:]
    expected: list[list[str]] = []
    for words in texts[:20]:
        if not any(says_the_same(words, other) for other in [*shown, *expected]):
            expected.append(words)
    items = [item(number, " ".join(words)) for number, words in enumerate(texts[:20], 1)]
    choice = chosen(items, budget=1000, shown_texts=[("Mira", " ".join(words)) for words in shown])
    best_first = sorted(choice.items, key=lambda one: one.rank)
    assert [one.text.split() for one in best_first] == expected
