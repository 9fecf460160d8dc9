from __future__ import annotations

import pytest

from bot.core.scripts import main_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Anna rests by the warm fire.", "LATIN"),
        ("Анна отдыхает у тёплого огня.", "CYRILLIC"),
        ("安娜在酒馆里休息，心情好。", "HAN"),
        ("アンナは宿で休んでいる。", "KANA"),
        ("안나는 여관에서 쉬고 있다.", "HANGUL"),
        ("安娜来了", None),
        ("Hello!", None),
        ("Anna says 安娜在酒馆里休息 all", None),
        ("", None),
    ],
)
def test_the_script_of_most_letters(text: str, script: str | None) -> None:
    assert main_script(text) == script
