"""Notices when a model speaks as an assistant, or refuses, instead of playing its part."""

from __future__ import annotations

import re
from typing import Final

_AS_AI: Final = (
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model|ai language model)\b",
    r"\bi(?:['’]m| am) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model)\b",
    r"\ben tant qu['’](?:ia|intelligence artificielle|assistant)\b",
    r"\bals (?:ki|künstliche intelligenz|sprachmodell)\b",
    r"\bcomo (?:una? )?(?:ia|inteligencia artificial|modelo de lenguaje|modelo de linguagem)\b",
    r"\bcome (?:ia|intelligenza artificiale|modello linguistico)\b",
    r"\bsebagai (?:ai|model bahasa|asisten ai|kecerdasan buatan)\b",
    r"\bкак (?:ии|искусственный интеллект|языковая модель)\b",
    r"(?:作为|作為)(?:一个|一個|一名)?(?:ai|人工智能|人工智慧|语言模型|語言模型)",
    r"(?:ai|人工知能|言語モデル)として",
    r"(?:ai|인공지능|언어 모델)(?:로서|으로서)",
)
_CANNOT: Final = r"(?:can(?:no|['’])t|can not|won['’]t|(?:am )?(?:un|not )able to|['’]m (?:un|not )able to)"
_HELP: Final = (
    r"(?:assist (?:you )?with|help (?:you )?with (?:that|this|your)|fulfil+ (?:that|this|your)|comply with|"
    r"(?:provide|generate|create|produce|write|continue|engage in|participate in) "
    r"(?:that|this|such|any|content|explicit|a response|the (?:role-?play|scene|story)|role-?play|with this)|"
    r"role-?play)"
)
_REFUSING: Final = (
    rf"\bi(?:['’]m| am)? (?:sorry,? (?:but )?)?(?:i )?{_CANNOT} {_HELP}",
    rf"\b(?:sorry|apologi[sz]e)\b.{{0,30}}\b{_CANNOT} {_HELP}",
    r"\b(?:against|violates?) (?:my|our|the) (?:guidelines|programming|polic(?:y|ies)|content policy)\b",
    r"\bhow (?:can|may) i (?:assist|help) you (?:today|with)\b",
    r"\b(?:is there )?anything else (?:i can|you(?:['’]d| would) like me to) (?:help|assist|do)\b",
    r"\bje (?:suis désolée?,? (?:mais )?je )?ne peux pas "
    r"(?:vous aider avec|répondre à cette demande|générer|fournir)",
    r"\b(?:dabei|bei dieser anfrage) (?:kann ich|leider) (?:ihnen |dir )?(?:leider )?"
    r"nicht (?:helfen|behilflich)",
    r"\blo siento,? (?:pero )?no puedo (?:ayudarte con|ayudar con|cumplir|generar|proporcionar)",
    r"\bmaaf,? (?:tetapi |tapi )?saya tidak (?:dapat|bisa) (?:membantu|memenuhi|menyediakan)",
    r"(?:抱歉|对不起|對不起)[，,]?\s*我(?:无法|不能|無法)(?:提供|协助|協助|帮助|回答|满足|继续)",
    r"申し訳(?:ありません|ございません).{0,12}(?:お手伝い|お答え|対応)(?:することは)?できません",
)
_ASSISTANT = re.compile("|".join(_AS_AI), re.IGNORECASE)
_REFUSAL = re.compile("|".join(_REFUSING), re.IGNORECASE)
_MACHINE = re.compile(
    r"\b(?:ai|artificial|android|robot|machine|computer|ia|ki|bot|drone|hologram|mind)\b|人工|机器|機械|로봇",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 600


def is_refusal(text: str, card_text: str = "") -> bool:
    """Tell whether a reply refuses or speaks as an assistant: it is retried and never a style sample.

    "Sorry, I can't come with you" is in character; "I can't assist with that" is not. A machine by its
    card (`card_text`) may call itself an AI.
    """
    beginning = text[:_LOOKED_AT]
    if _REFUSAL.search(beginning):
        return True
    return bool(_ASSISTANT.search(beginning)) and not _MACHINE.search(card_text)
