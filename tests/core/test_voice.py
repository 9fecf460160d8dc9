from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.voice import KINSHIP, Drift, drift, kinship, measure

DRY = (
    "I have a hammock, a leak and a cat who snores. For a friend, I'll move the leak.",
    "The law has a shorter word for it. I have never asked which, and my cat cannot spell.",
    "You may pay me when the river runs dry. I have seen that once, and I was not impressed.",
)
CALM_REPLIES = (
    "You will find my inn where the lamp hangs low. I do not ask for names, only for dry boots.",
    "My mother rowed this river before me. She said I talk too much and row too little.",
    "Sit down, the soup is hot. I will hear your story when you have eaten, and I may believe it.",
)
JAPANESE = (
    "私は川を渡るだけの者です。お客の名前は聞きません。それが長く生きるこつなのです。",
    "スープは熱いうちにどうぞ。話は私があとでゆっくり聞きましょう。急ぐことはありません。",
    "雨の夜には灯りを低くします。川はそれを好むのです。私もそうだと思っています。",
)
KOREAN = (
    "나는 강을 건너는 사람일 뿐입니다. 손님의 이름은 묻지 않습니다. 그것이 오래 사는 비결이지요.",
    "국이 뜨거울 때 드세요. 이야기는 내가 나중에 천천히 듣겠습니다. 서두를 것 없습니다.",
    "비 오는 밤에는 등불을 낮게 겁니다. 강이 그것을 좋아합니다. 나도 그렇다고 생각합니다.",
)
CHINESE = (
    "我只是个渡河的人,从不问客人的名字。这就是活得长久的诀窍。你坐下来吧,外面的雨还很大。",
    "趁热喝汤吧,故事等会儿慢慢讲。我不着急,河也不着急。猫已经占了你的椅子,你就坐地上吧。",
    "下雨的夜晚,我总把灯挂得很低。河水喜欢这样,我也喜欢。这条路走的人越来越少了。",
)


def changed(texts: tuple[str, ...], **marks: str) -> list[str]:
    table = str.maketrans({".": marks.get("stop", "."), "。": marks.get("stop", "。")})
    return [text.translate(table) for text in texts]


@pytest.mark.parametrize("samples", [DRY, JAPANESE, KOREAN, CHINESE], ids=["en", "ja", "ko", "zh"])
def test_who_goes_on_in_the_same_voice_has_not_drifted(samples: tuple[str, ...]) -> None:
    replies = CALM_REPLIES if samples is DRY else (samples[2], samples[0], samples[1])
    assert drift(replies, samples, names=["Mira"], others=list(samples)) == ()


@pytest.mark.parametrize(
    ("samples", "stop"), [(DRY, "!!!"), (JAPANESE, "!!!"), (KOREAN, "!!!"), (CHINESE, "!!!")]
)
def test_shouting_is_noticed_in_every_script(samples: tuple[str, ...], stop: str) -> None:
    assert Drift.LOUDER in drift(changed(samples, stop=stop), samples)


@pytest.mark.parametrize(
    ("samples", "comma"), [(DRY, ", "), (JAPANESE, "、"), (KOREAN, ", "), (CHINESE, ",")]
)
def test_run_on_sentences_are_noticed_in_every_script(samples: tuple[str, ...], comma: str) -> None:
    endless = [comma.join(changed(samples, stop=comma)) for _ in range(3)]
    assert drift(endless, samples) == (Drift.LONGER,)


def test_clipped_sentences_are_noticed() -> None:
    long = [" ".join(["and then the river took the lamp and the boat"] * 6) + "." for _ in range(3)]
    assert drift(["Yes. No. The river."] * 3, long) == (Drift.SHORTER,)


def test_trailing_off_and_emoji_are_noticed() -> None:
    assert drift([f"{text.replace('.', '...')}…" for text in CALM_REPLIES], DRY) == (Drift.TRAILING,)
    assert drift([f"😀 {text.replace('.', ' 😀😀.')}" for text in CALM_REPLIES], DRY) == (Drift.EMOJI,)


def test_actions_that_vanish_or_take_over_are_noticed() -> None:
    acted = [f"*She leans on the oar and looks at you.* {text}" for text in DRY]
    assert drift(CALM_REPLIES, acted) == (Drift.NO_ACTION,)
    only = [f"*{text}* *{text}*" for text in CALM_REPLIES]
    assert drift(only, DRY) == (Drift.MORE_ACTION,)
    assert drift([f"*nods* {text}" for text in CALM_REPLIES], DRY) == ()


def test_bullets_and_stray_asterisks_are_no_actions() -> None:
    assert measure("* one\n* two\n2 * 3 * 4 = 24, a*b*c").action == 0.0
    assert measure("*She nods.* Yes.").action > 0.5
    assert measure("**Never.**").action == 0.0


def test_who_tells_of_itself_by_name_is_noticed_both_ways() -> None:
    named = [
        "Mira lifts the lamp. The river is loud tonight, so Mira speaks up.",
        "Mira counts the coins twice before the boat leaves the shore.",
        "The cat follows Mira to the bow and stays there until dawn.",
    ]
    assert drift(named, DRY, names=["Mira"]) == (Drift.BY_NAME,)
    assert drift(CALM_REPLIES, named, names=["Old Mira", "Mira"]) == (Drift.AS_I,)
    assert drift([f"I am Mira. {text}" for text in CALM_REPLIES], DRY, names=["Mira"]) == ()


def test_a_name_counts_as_a_whole_word_or_inside_a_dense_script() -> None:
    assert measure("Miranda admires Mira.", ["Mira"]).named == 1
    assert measure("ミラは笑う。", ["ミラ"]).named == 1


FRENCH = (
    "Je n'ai qu'un hamac et une fuite au plafond. Pour une amie, je déplacerai la fuite, pas le chat.",
    "La loi a un mot plus court pour cela. Je ne l'ai jamais demandé, et mon chat ne sait pas lire.",
    "Tu me paieras quand la rivière sera sèche. Je l'ai vue ainsi une fois, cela ne m'a pas plu.",
)


def test_another_language_is_noticed_unless_the_members_speak_it_too() -> None:
    assert kinship(FRENCH, DRY) is not None
    assert drift(FRENCH, DRY, others=CALM_REPLIES) == (Drift.OTHER_WORDS,)
    assert drift(FRENCH, DRY, others=FRENCH[::-1]) == ()
    assert drift(FRENCH, DRY, others=["Oui."]) == (), "too few words to know"
    assert drift(JAPANESE, DRY, others=CALM_REPLIES) == (Drift.OTHER_WORDS,)
    assert drift(JAPANESE, DRY, others=JAPANESE) == ()


def test_sentences_of_another_language_are_not_measured_against_the_samples() -> None:
    short = [text.replace("、", "。") for text in JAPANESE]
    endless = ["the river and the lamp and the boat and the rain " * 4 + "."] * 3
    assert Drift.SHORTER not in drift(short, endless, others=JAPANESE)


@pytest.mark.parametrize("replies", [(), CALM_REPLIES[:2]])
def test_a_few_replies_tell_nothing(replies: tuple[str, ...]) -> None:
    assert drift([f"{text}!!!!!!" for text in replies], DRY) == ()


def test_one_sample_tells_nothing() -> None:
    assert drift([f"{text}!!!!!!!!!!!!" for text in CALM_REPLIES], DRY[:1]) == ()


def test_one_reply_in_the_old_voice_is_enough_to_say_nothing() -> None:
    loud = changed(CALM_REPLIES, stop="!!!")
    assert drift(loud, DRY) == (Drift.LOUDER,)
    assert drift([*loud[:2], CALM_REPLIES[2]], DRY) == ()


def test_kinship_is_high_within_a_language_and_low_between_two() -> None:
    assert (kinship(DRY, CALM_REPLIES) or 0) > 0.4
    assert (kinship(DRY, FRENCH) or 1) < KINSHIP
    assert kinship(DRY, ["Hm."]) is None
    assert (kinship(CHINESE[:2], CHINESE[1:]) or 0) > 0.4


@given(
    st.lists(st.text(max_size=80), max_size=5),
    st.lists(st.text(max_size=80), max_size=4),
    st.text(max_size=5),
)
def test_any_text_is_judged_without_failing(replies: list[str], samples: list[str], name: str) -> None:
    ways = drift(replies, samples, names=[name], others=replies)
    assert len(set(ways)) == len(ways)
    assert drift(samples[:1] * 3, samples[:1] * 3) == ()
