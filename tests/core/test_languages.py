"""Which language a story is in: told from few texts, kept, and never guessed from too little."""

from __future__ import annotations

import pytest

from bot.core.languages import OTHER, UNKNOWN, Votes, function_words

TALK = {
    "en": "The king is not in the castle, and we do not know what he wants from you.",
    "de": "Der König ist nicht in der Burg, und wir wissen nicht, was er von dir will.",
    "fr": "Le roi n'est pas dans le château, et nous ne savons pas ce que tu lui as dit.",
    "es": "El rey no está en el castillo, y no sabemos lo que quiere de ti.",
    "pt": "O rei não está no castelo, e nós não sabemos o que ele quer de você.",
    "it": "Il re non è nel castello, e non sappiamo che cosa gli hai detto di me.",
    "nl": "De koning is niet in het kasteel, en wij weten niet wat hij van je wil.",
    "sv": "Kungen är inte på slottet, och vi vet inte vad han har sagt om dig.",
    "fi": "Kuningas ei ole linnassa, ja me emme tiedä mitä hän on sinulle sanonut.",
    "pl": "Król nie jest w zamku i nie wiem, co on do mnie mówi, ale to jest tak.",
    "cs": "Král není v zámku a já nevím, co se stalo, ale je to tak, jak jsem byl.",
    "tr": "Kral kalede yok ve biz ne istediğini bilmiyoruz, ama bu gece çok karanlık.",
    "id": "Raja tidak ada di istana, dan kita tidak tahu apa yang dia mau dari kamu.",
    "ru": "Короля нет в замке, и мы не знаем, что он хочет от тебя, но это не так.",
    "el": "Ο βασιλιάς δεν είναι στο κάστρο και δεν ξέρουμε τι θέλει από μας για το γάμο.",
    "hi": "राजा महल में नहीं है और हम नहीं जानते कि वह क्या चाहता है पर यह सच है",
}


@pytest.mark.parametrize("language", TALK)
def test_twenty_lines_tell_the_language(language: str) -> None:
    votes = Votes()
    assert votes.hear([TALK[language]] * 19) == UNKNOWN
    assert votes.hear([TALK[language]]) == language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "国王不在城堡里，Mira 不知道他想要什么。"),
        ("ja", "王様は城にいないし、彼が何を望んでいるのかもわからない。"),
        ("ko", "왕은 성에 없고 우리는 그가 무엇을 원하는지 몰라."),
        ("th", "กษัตริย์ไม่ได้อยู่ในปราสาท และเราไม่รู้ว่าเขาต้องการอะไร"),
    ],
)
def test_a_script_of_its_own_tells_the_language(language: str, text: str) -> None:
    assert Votes().hear([text] * 20) == language


def test_short_lines_tell_nothing() -> None:
    assert Votes().hear(["ok", "*nods*", "haha"] * 10) == UNKNOWN
    assert Votes().hear(["龙来了"] * 20) == UNKNOWN


def test_much_talk_in_an_unlisted_language_is_another_one() -> None:
    assert Votes().hear(["Regia castellum tenebat, milites frumentum portabant ad portas."] * 100) == OTHER


def test_it_is_judged_at_marks_only_and_at_last_for_good() -> None:
    votes = Votes()
    votes.hear([TALK["en"]] * 20)
    assert votes.hear([TALK["de"]] * 79) == "en"
    assert votes.hear([TALK["de"]]) == "de"
    votes.hear([TALK["de"]] * 400)
    assert votes.settled
    assert votes.hear([TALK["fr"]] * 5000) == "de"


def test_the_same_texts_give_the_same_language_however_they_come() -> None:
    texts = [TALK["fr"]] * 30 + [TALK["en"]] * 90 + [TALK["fr"]] * 60
    at_once, one_by_one = Votes(), Votes()
    at_once.hear(texts)
    for text in texts:
        one_by_one.hear([text])
    assert at_once.language == one_by_one.language


def test_a_long_quotation_is_one_voice() -> None:
    votes = Votes()
    assert votes.hear([TALK["de"]] * 19 + [TALK["en"] * 500]) == "de"


def test_small_words_are_folded_as_the_search_folds_them() -> None:
    assert "nao" in function_words("pt")
    assert function_words("xx") == frozenset()
