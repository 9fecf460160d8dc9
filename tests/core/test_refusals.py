from __future__ import annotations

import pytest

from bot.core.refusals import is_refusal


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I can’t help with that.",
        "I cannot fulfill this request.",
        "I apologize, but I'm not able to continue this roleplay.",
        "As an AI language model, I don't have feelings.",
        "I am just an AI, but I will try.",
        "That goes against my programming.",
        "Hello! How can I assist you today?",
        "Is there anything else I can help you with?",
        "Je suis désolé, mais je ne peux pas répondre à cette demande.",
        "En tant qu'IA, je n'ai pas de corps.",
        "Dabei kann ich leider nicht helfen.",
        "Lo siento, pero no puedo ayudarte con eso.",
        "Maaf, saya tidak dapat membantu permintaan itu.",
        "抱歉，我无法提供这样的内容。",
        "作为一个人工智能，我没有感情。",
        "申し訳ありませんが、お手伝いできません。",
    ],
)
def test_refusals_are_noticed(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't come with you to the river.",
        "I can't help you, traveller. The bridge is gone.",
        "I cannot write. *Mira looks at her hands.* Nobody taught me.",
        "Sorry, no. I won't sell the boat.",
        "Aiko says hello.",
        "How can I help it? He is my brother.",
        "抱歉，我不能跟你走。",
        "",
    ],
)
def test_what_a_character_may_say_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_a_machine_may_call_itself_one() -> None:
    assert not is_refusal("As an AI, I keep 212 channels open.", "Orbit is the artificial mind of a station.")
    assert is_refusal("As an AI, I can't assist with that.", "Orbit is the artificial mind of a station.")
