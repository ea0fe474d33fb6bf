"""How good the text of an answer is (spec_lego §9)."""

import re
from collections.abc import Mapping, Sequence

from graphrag_dagster.catalogue.registry import asks_model
from graphrag_dagster.core.language.path_selection import GraphAnswer
from graphrag_dagster.core.paths.metrics.normalising import Answers, identity, normalised

#: What is behind the name of a measure of an answer that no model gave.
LEX = "_lex"
ANSWER_MEASURES = ("hits_at_1", "answer_f1", "list_f1")
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")


def harmonic(precision: float, recall: float) -> float:
    """Return F1; 0 where both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def answer_scores(answer: GraphAnswer, gold: Answers) -> dict[str, float | None]:
    """Return the measures of an answer; those that are not for who gave it, and all without gold, are None.

    hits_at_1: 1 where the text holds any gold answer. answer_f1: the text is one prediction, whose precision
    is that, and whose recall the share of gold answers that it holds. list_f1: each item of it is a
    prediction. Where no model answered they end in :data:`LEX`.
    """
    own, other = ("", LEX) if asks_model(answer.engine) else (LEX, "")
    found: dict[str, float | None] = dict.fromkeys(f"{name}{other}" for name in ANSWER_MEASURES)
    measured = _measured(answer, gold) if len(gold) else dict.fromkeys(ANSWER_MEASURES)
    return found | {f"{name}{own}": value for name, value in measured.items()}


def items(text: str, gold: Sequence[str] = ()) -> list[str]:
    """Return the lines of a reply without bullets, split at commas unless a whole line is a gold answer."""
    whole = {identity(one) for one in gold}
    found: list[str] = []
    for line in (_BULLET.sub("", line) for line in text.splitlines()):
        found += [line] if identity(line) in whole else line.split(",")
    return [item.strip() for item in found if item.strip()]


def _measured(answer: GraphAnswer, gold: Answers) -> Mapping[str, float]:
    said = "" if answer.named == () else answer.text
    held = gold.within(normalised(said))
    listed = items(said, gold.texts) if answer.named is None else answer.named
    of_items = [gold.within(normalised(item)) for item in listed]
    right = sum(map(bool, of_items)) / len(of_items) if of_items else 0.0
    return {
        "hits_at_1": float(bool(held)),
        "answer_f1": harmonic(float(bool(held)), len(held) / len(gold)),
        "list_f1": harmonic(right, len(set().union(*of_items)) / len(gold)),
    }
