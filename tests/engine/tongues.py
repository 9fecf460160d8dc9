"""One marked memory in each of many languages, small talk around it, and a question in other forms."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.seed_head import seeds

LINES = 30

MARKED = {
    "de": (
        "Die silbernen Schwerter liegen unter der alten Mühle.",
        "Wo ist das Schwert von der MUEHLE? Mühlen!",
    ),
    "en": ("The silver swords lie under the old mill.", "Where is the sword of the mill?"),
    "es": ("Las espadas de plata están debajo del viejo molino.", "¿Dónde está la espada de los molinos?"),
    "fr": ("Les épées d'argent sont cachées sous le vieux moulin.", "Où est l'epee des moulins ?"),
    "id": (
        "Pedang perak itu disembunyikan di bawah kincir tua.",
        "Siapa menyembunyikan pedangnya di kincir?",
    ),
    "it": ("Le spade d'argento sono sotto il vecchio mulino.", "Dov'è la spada dei mulini?"),
    "ja": ("銀の剣は古い水車の下に隠してある。", "剣と水車のことを教えて"),
    "ko": ("은검은 오래된 물레방아 밑에 숨겨져 있다.", "물레방아에서 은검을 봤어?"),
    "pt": ("As espadas de prata estão debaixo do velho moinho.", "Onde está a espada dos moinhos?"),
    "ru": ("Серебряные мечи лежат под старой мельницей.", "Где же меч с мельницы?"),
    "zh": ("银剑藏在旧磨坊下面。", "那把剑是不是在磨坊？"),
    "pl": ("Srebrne miecze leżą pod starym młynem.", "Gdzie jest miecz z mlyna?"),
    "th": ("ดาบเงินซ่อนอยู่ใต้โรงสีเก่า", "ดาบอยู่ที่โรงสีหรือเปล่า"),
    "tr": ("Gümüş kılıçlar eski değirmenin altında.", "Kılıç değirmende mi?"),
}
_OWN_TALK = {
    "pl": "Nie wiem, co się stało, ale jest już późno i jak na to patrzę, to nie jest dobrze|"
    "Zupa jest za słona, a ja nie mam już soli do niej|Kto to był i po co on tak krzyczy na mnie",
    "th": "วันนี้ฝนตกหนักมาก|ซุปเค็มเกินไป|ใครลืมปิดประตูห้องใต้ดิน",
    "tr": "Bu çorba çok tuzlu ve ben daha bir şey yemedim ama|Ne oldu, kim geldi, sen bana bir şey de|"
    "Bu gece yağmur var ve biz de burada kadar bekledik",
}


@dataclass(frozen=True, slots=True)
class Tongue:
    """A story in one language."""

    marked: str
    asked: str
    talk: tuple[str, ...]


def tongue(language: str) -> Tongue:
    """Return the marked line, the question, and thirty lines of small talk."""
    marked, asked = MARKED[language]
    if language in _OWN_TALK:
        few = _OWN_TALK[language].split("|")
        talk = [f"{few[number % len(few)]}, {number}." for number in range(LINES)]
    else:
        names, lines = seeds()
        talk = [line.text for name, line in zip(names, lines, strict=True) if name == language][::3][:LINES]
    return Tongue(marked, asked, tuple(talk))
