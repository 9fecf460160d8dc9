from __future__ import annotations

import json

from bot.core.answer_watch import AnswerWatcher


def _fed(text: str) -> tuple[bool, int]:
    watcher = AnswerWatcher()
    for number, character in enumerate(text):
        if not watcher.feed(character):
            return watcher.stopped, number
    return watcher.stopped, len(text)


def test_a_whole_answer_passes() -> None:
    emotions = [{"turn": number, "scores": [1, 1, 1, 1, 1, 1, 1, 2]} for number in range(1, 21)]
    answer = {"keep": list(range(40)), "lines": [], "facts": [], "emotions": emotions}
    assert _fed("Here are the notes:\n" + json.dumps(answer)) == (False, len(json.dumps(answer)) + 20)


def test_the_same_feelings_for_many_turns_are_no_loop() -> None:
    names = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
    emotions = [{"turn": number, "scores": dict.fromkeys(names, 1)} for number in range(1, 21)]
    text = json.dumps({"keep": [], "lines": [], "facts": [], "emotions": emotions})
    assert _fed(text) == (False, len(text))


def test_prose_is_stopped() -> None:
    stopped, at = _fed("I am glad to see the story go on, and I will add a few more turns to it. " * 20)
    assert stopped
    assert at < 500


def test_a_loop_is_stopped() -> None:
    stopped, at = _fed(
        '{"facts":[' + '{"about":"<name>","text":"<one sentence>","turns":[1],"when":""},' * 50
    )
    assert stopped
    assert at < 700
