"""Tells which language texts are mostly in, by the small words that no sentence does without."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from bot.core.tokens import fold

UNKNOWN: Final = ""
OTHER: Final = "other"
"""Enough was said to tell that it is none of the languages below."""

_WORDS: Final = {
    "en": "the and of to is was it that you he she they we my your his her with for not but have are this",
    "de": "der die das und ist nicht ich du er sie es wir ein eine einen dem den zu mit auf war hat sich",
    "fr": "le la les des et est un une je tu il elle nous vous que qui ne pas dans pour sur avec ce c d l au",
    "es": "el la los las y es un una yo que no en de se por con para su lo le mi pero como esta muy del al",
    "pt": "o a os as e um uma eu que nao em de se por com para seu sua voce ele ela mas como esta muito do",
    "it": "il lo la gli e un una che non di in per con mi ti si ma come sono ho del della al nel suo sua",
    "nl": "de het een en is niet ik je hij zij we van in op met dat te voor zijn haar maar ook er was naar",
    "sv": "och att det som en jag du han hon vi inte ar var pa med for den till av har om sig men ett sa",
    "da": "og at det som en jeg du han hun vi ikke er var pa med for den til af har om sig men et sa der",
    "no": "og at det som en jeg du han hun vi ikke er var pa med for den til av har om seg men et sa hva",
    "fi": "ja on ei se han mina sina etta oli mutta kun niin ovat joka tama hanen olen nyt kuin mita me he",
    "hu": "a az es egy nem hogy is van volt en te o de meg ez csak mint ha mi ki ra el le itt",
    "ro": "si de la in un o nu este sa ca eu tu el ea cu pe pentru care mai din dar am fost lui ce",
    "pl": "i w nie na to sie z jest ze do jak a co o ale za tak ja ty on ona byl mnie od po jego",
    "cs": "a v ne na to se s je ze do jak co o ale za tak ja ty on ona byl me od po jeho jsem",
    "tr": "bir ve bu da de ne ben sen o biz icin ama ile gibi var yok cok mi daha degil her kadar sonra bana",
    "id": "yang dan di ke tidak itu ini aku kamu dia kita untuk dengan dari ada akan pada juga sudah saya",
    "vi": "la va cua co khong toi ban nguoi mot cho nay da duoc trong voi den nhung cac thi anh em o",
    "ru": "и в не на что я он она мы вы с как это но то же к за у из по бы был меня его ты так",
    "uk": "і в не на що я він вона ми ви з як це але то та до за у із по би був мене його ти так є",
    "el": "και το να η ο δεν με για που στο τα την τον της θα ειναι μου σου του απο οτι μας",
    "ar": "في من على ان لا ما هو هي انا الى هذا كان عن لم مع قد كل التي الذي يا",
    "fa": "و در به از که این را با است برای آن من تو او ما نه هم یک بود می شد",
    "hi": "है के में की और से को का नहीं यह वह मैं हम तुम पर एक भी ने हो था थी",
}
_ASKING: Final = {
    "de": "wie was wo wer wen wem wann warum wohin woher welche welcher welches bei von im am an in dir mir",
    "fr": "ou quand qui quoi comment pourquoi quel quelle quels quelles du au aux a as ai sous m t n s",
    "es": "donde quien quienes cuando cual cuales por tu te ha he sobre",
    "pt": "onde quem quando qual quais porque tem foi dos das nos nas",
    "it": "dove dov chi cosa quando perche quale quali hai ha dei delle dal dalla",
    "nl": "waar wie wat wanneer waarom hoe welke heb heeft bij uit",
    "sv": "var vem vad nar varfor hur vilken vilket fran vid",
    "da": "hvor hvem hvad hvornar hvorfor hvordan hvilken fra ved",
    "no": "hvor hvem hva nar hvorfor hvordan hvilken fra ved",
    "fi": "missa kuka mika milloin miksi miten mihin",
    "hu": "hol kicsoda mikor miert hogyan melyik hova",
    "ro": "unde cine cand cum care ce este la",
    "pl": "gdzie kto co kiedy dlaczego czy jaki jaka dla przy",
    "cs": "kde kdo co kdy proc jaky jaka pro pri",
    "tr": "nerede nereye kim ne nasil neden niye mi mu",
    "id": "mana siapa apa kapan kenapa mengapa bagaimana nya lah",
    "ru": "где кто кому когда почему зачем куда откуда какой какая ли от о",
    "uk": "де хто кому коли чому навіщо куди звідки який яка чи від о",
    "el": "που ποιος ποια ποτε πως γιατι τι",
    "ar": "اين متى كيف لماذا ماذا هل",
    "fa": "کجا کی چه چرا چطور آیا",
    "hi": "कहाँ कौन कब क्यों कैसे क्या",
}
_SMALL_LETTERS: Final = {
    "ja": "のはがをにでともへやかよねなだたてしるますいんっこそあど",
    "ko": "은는이가을를에의도와과로다요니까서야지",
    "zh": "的了是不在我你他她它们那这有吗呢吧把被就也都和什么哪谁个为会要很到说没",
}
"""Letters that mostly connect; alone or in pairs of them they name nothing."""
LANGUAGES: Final = (*_WORDS, "ja", "ko", "th", "zh")
"""All that can be told, by their codes."""
_MINE: Final = {name: frozenset(fold(words).split()) for name, words in _WORDS.items()}
_PAIRED: Final = {
    name: frozenset(letters) | {first + second for first in letters for second in letters}
    for name, letters in _SMALL_LETTERS.items()
}
_SMALL: Final = _PAIRED | {
    name: own | frozenset(fold(_ASKING.get(name, "")).split()) for name, own in _MINE.items()
}
_SCRIPTS: Final = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "th": "\u0e00-\u0e7f",
    "zh": "\u4e00-\u9fff",
}
_UNSPACED: Final = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
"""Scripts that are a language's own, or nearly; what a word is, nobody can see."""
_WORD = re.compile(rf"[^\W\d_{''.join(_SCRIPTS.values())}]+")
_LETTERS_A_WORD: Final = 2
_KANA: Final = 0.1
"""So much kana beside Han makes Japanese."""
_FEWEST_WORDS: Final = 40
_FEWEST_HITS: Final = 8
_LEAST_SHARE: Final = 0.1
_ENOUGH_WORDS: Final = 400
_CHARACTERS: Final = 600
"""Of each text: a long quotation in another language must not outvote the others."""


def function_words(language: str) -> frozenset[str]:
    """Return the words of a language that ask or connect but name nothing, folded; of an unknown one none."""
    return _SMALL.get(language, frozenset())


class Votes:
    """Hears texts one after the other and says which language they are in; the same texts, the same answer.

    The answer is given anew only when the number of texts reaches a mark, so that it holds still: after the
    last mark nothing changes it.
    """

    MARKS: Final = (20, 100, 500)

    def __init__(self) -> None:
        self.language = UNKNOWN
        self._texts = 0
        self._words = 0
        self._hits: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()

    @property
    def settled(self) -> bool:
        """Whether no further text can change the language."""
        return self._texts >= self.MARKS[-1]

    def hear(self, texts: Iterable[str]) -> str:
        """Count the texts, up to the last mark, and return the language: `UNKNOWN`, `OTHER` or its code."""
        for text in texts:
            if self.settled:
                break
            self._count(text)
            self._texts += 1
            if self._texts in self.MARKS:
                self.language = self._judged()
        return self.language

    def _count(self, text: str) -> None:
        said = text[:_CHARACTERS]
        for name, letters in _UNSPACED.items():
            self._letters[name] += len(letters.findall(said))
        words = _WORD.findall(fold(said))
        self._words += len(words)
        for name, own in _MINE.items():
            if hits := sum(word in own for word in words):
                self._hits[name] += hits

    def _judged(self) -> str:
        """Return the language of the most letters without spaces, or of the most small words, if enough."""
        unspaced = self._letters.total() / _LETTERS_A_WORD
        if unspaced >= max(_FEWEST_WORDS, self._words):
            return self._of_letters()
        if self._words < _FEWEST_WORDS:
            return UNKNOWN
        name, hits = max(self._hits.items(), key=lambda item: item[1], default=(UNKNOWN, 0))
        if hits >= _FEWEST_HITS and hits >= _LEAST_SHARE * self._words:
            return name
        return OTHER if self._words >= _ENOUGH_WORDS else UNKNOWN

    def _of_letters(self) -> str:
        letters = Counter(self._letters)
        if letters["ja"] > _KANA * letters["zh"]:
            letters["ja"] += letters.pop("zh", 0)
        return letters.most_common(1)[0][0]
