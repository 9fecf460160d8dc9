"""Forms of one word meet in one token, in every language that members may write."""

from __future__ import annotations

import pytest

from bot.adapters.stemmers import ALGORITHMS, Stemmers
from bot.core.languages import OTHER, UNKNOWN
from bot.core.lexical import LexicalIndex
from bot.core.tokens import fold
from bot.core.word_forms import ENGLISH, word_forms

FORMS = [
    ("de", "Drache Drachen"),
    ("de", "Schwert Schwerter Schwertes"),
    ("de", "König Könige Königs"),
    ("fr", "épée épées EPEE"),
    ("fr", "manger mangeait mangé"),
    ("es", "canción canciones cancion"),
    ("es", "comer comiendo comieron"),
    ("pt", "espada espadas"),
    ("pt", "prometer prometeu"),
    ("it", "mangiare mangiava mangiato"),
    ("it", "spada spade"),
    ("nl", "draak draken"),
    ("sv", "drake draken drakar"),
    ("pl", "smok smoka smoki"),
    ("pl", "miecz miecza mieczem"),
    ("cs", "drak draka"),
    ("ru", "дракон дракона драконы драконов"),
    ("ru", "королева королевы королевой"),
    ("tr", "ejderha ejderhalar ejderhayı"),
    ("id", "janji berjanji dijanjikan"),
    ("el", "σπαθί σπαθιά"),
]


@pytest.mark.parametrize(("language", "words"), FORMS)
def test_forms_of_a_word_find_each_other(language: str, words: str) -> None:
    forms = word_forms(language, Stemmers().of)
    index = LexicalIndex(forms)
    for number, word in enumerate(words.split()):
        index.add(number, f"xyzzy {word} xyzzy")
    index.add(99, "plugh plugh plugh")
    for word in words.split():
        found = index.search(index.query_tokens(word)).ids.tolist()
        assert sorted(found) == list(range(len(words.split()))), word


@pytest.mark.parametrize("language", ALGORITHMS)
def test_every_listed_language_has_a_stemmer_that_takes_any_word(language: str) -> None:
    stem = Stemmers().of(language)
    assert stem is not None
    for word in ("a", "ab", "dragon", "дракон", "龙", "ドラ", "123", "x" * 64, "ёлка"):
        assert stem(word)
        assert stem(word) == stem(word)
        assert fold(stem(word)) == stem(word)


def test_a_language_without_one_is_cut_to_the_beginning() -> None:
    assert Stemmers().of("vi") is None
    forms = word_forms(OTHER, Stemmers().of)
    assert forms.stem("замками") == forms.stem("замкам") == "замка"
    assert forms.stem("меч") == "меч"


def test_what_is_not_known_yet_and_english_are_cut_alike() -> None:
    assert word_forms(UNKNOWN, Stemmers().of) is ENGLISH
    assert word_forms("en", Stemmers().of) is ENGLISH


@pytest.mark.parametrize(
    ("language", "asked", "telling"),
    [
        ("zh", "那是不是在磨坊？", ["在磨", "磨", "磨坊", "坊"]),
        ("ja", "剣はどこに", ["剣", "剣は"]),
        ("ko", "이 검은", ["검", "검은"]),
    ],
)
def test_letters_that_only_connect_leave_a_question(language: str, asked: str, telling: list[str]) -> None:
    index = LexicalIndex(word_forms(language, Stemmers().of))
    assert sorted(index.query_tokens(asked)) == sorted(telling)


def test_small_words_of_the_language_leave_a_question() -> None:
    index = LexicalIndex(word_forms("de", Stemmers().of))
    assert index.query_tokens("Wie hat der Drache sich mit dem König") == ["drach", "konig"]
    assert index.query_tokens("der die das") == ["der", "die", "das"]
