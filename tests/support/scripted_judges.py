"""Judges for the scripted endpoint whose favour is known: the first answer, a random one, the longer one.

What is no judging prompt they answer as the plain script does.
"""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from support.conversations import asked_of, section

Body = dict[str, Any]
#: The winner, 0, 1 or 2, by question and both answers.
Choose = Callable[[str, str, str], int]


def verdict(winner: object, reason: str = "So the script has it.") -> str:
    """A reply in the form that a judge is asked for."""
    return json.dumps({"reason": reason, "winner": winner})


def shown_in(body: Body) -> tuple[str, str, str] | None:
    """Question and answers as a judging prompt shows them, None for any other prompt."""
    data = asked_of(body).data
    question, first, second = (section(data, tag) for tag in ("question", "answer_1", "answer_2"))
    return None if question is None or first is None or second is None else (question, first, second)


def judge_script(choose: Choose) -> Callable[[Body], Any]:
    """A script that judges as it is told."""

    def script(body: Body) -> Any:
        # Not at the top: that module asks this one for its judgements.
        from support.scripted_replies import name_pattern_script

        shown = shown_in(body)
        return name_pattern_script(body) if shown is None else verdict(choose(*shown))

    return script


def first_judge(body: Body) -> Any:
    """A script that always prefers the answer that is shown first."""
    return judge_script(lambda *_: 1)(body)


def longer_judge(body: Body) -> Any:
    """A script that prefers the answer with more characters, a tie where they have the same number."""
    return judge_script(_longer)(body)


def random_judge(seed: int = 0) -> Callable[[Body], Any]:
    """A script without any preference: a fifth of its verdicts are ties, the others are as often 1 as 2.

    A verdict depends on the seed, the texts, and how often these were judged in this order before, not on the
    wording of the prompts: the verdicts on two answers are the same in every run, whichever call comes first.
    """
    lock = threading.Lock()
    before: Counter[tuple[str, str, str]] = Counter()

    def choose(*shown: str) -> int:
        question, first, second = shown
        with lock:
            number = before[question, first, second]
            before[question, first, second] += 1
        digest = hashlib.sha256(json.dumps([seed, *shown, number]).encode()).digest()
        return (0, 1, 2, 1, 2)[int.from_bytes(digest[:8]) % 5]

    return judge_script(choose)


def judging_reply(body: Body) -> str | None:
    """The reply of the judge that prefers the longer answer, None for what is no judging prompt."""
    shown = shown_in(body)
    return None if shown is None else verdict(_longer(*shown))


def _longer(question: str, first: str, second: str) -> int:
    return 0 if len(first) == len(second) else 1 if len(first) > len(second) else 2
