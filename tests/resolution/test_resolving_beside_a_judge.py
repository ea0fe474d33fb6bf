"""What the rules alone make of names while a judge is asked: found out once, and nothing is otherwise for it."""

import threading
from collections.abc import Callable, Sequence

import polars as pl
import pytest

from graphrag_dagster.core.language.name_judging import Ruling
from graphrag_dagster.core.resolution import resolving
from graphrag_dagster.core.resolution.frames import ByRule, ResolutionFrames, resolve_corpus
from graphrag_dagster.core.resolution.people import Decisions
from graphrag_dagster.core.resolution.resolving import Question
from support.named import Texts, frames_of

#: In the first document it is open whose short name "Mouat" is, between documents how Brinefield is spelled.
BOTH: Texts = {
    "crossing": [("Bethia Mouat", "PERSON"), ("Agnes Mouat", "PERSON"), ("Mouat", "PERSON")],
    "shipping": [("Brinefield Shipping", "ORGANIZATION"), ("Orrin Vask", "PERSON")],
    "lawsuit": [("Brinefeild Shipping", "ORGANIZATION"), ("Orrin Vask", "PERSON"), ("Port Ellery", "GEO")],
}
BETWEEN: Texts = {path: names for path, names in BOTH.items() if path != "crossing"}


class Asked:
    """Rules that all is one, and waits until what is found out meanwhile is there, if anything is."""

    def __init__(self) -> None:
        self.found: list[ByRule | None] = []
        self.asked: list[list[tuple[str, str]]] = []
        self._finding: threading.Thread | None = None

    def __call__(self, questions: Sequence[Question]) -> list[Ruling]:
        if self._finding is not None:
            self._finding.join(60)
        self.asked.append([(one.one[0], one.other[0]) for one in questions])
        return [Ruling("same", "so it is said") for _ in questions]

    def meanwhile(self, by_rule: Callable[[], ByRule | None]) -> None:
        self._finding = threading.Thread(target=lambda: self.found.append(by_rule()))
        self._finding.start()


def resolved(texts: Texts, judge: Asked, *, beside: bool) -> ResolutionFrames:
    meanwhile = judge.meanwhile if beside else None
    return resolve_corpus(*frames_of(texts), Decisions(), judge, meanwhile=meanwhile)


def entity_of(aliases: pl.DataFrame, name: str) -> str:
    found: list[str] = aliases.filter(name=name)["entity"].unique().to_list()
    (entity,) = found
    return entity


@pytest.mark.parametrize("texts", [BOTH, BETWEEN])
def test_it_changes_nothing_and_is_told_once(texts: Texts) -> None:
    alone, judge = Asked(), Asked()
    expected, made = resolved(texts, alone, beside=False), resolved(texts, judge, beside=True)
    assert judge.asked == alone.asked
    assert len(judge.found) == 1
    assert made.aliases.equals(expected.aliases)
    assert made.decisions.equals(expected.decisions)
    assert made.candidates.sort("pair_id").equals(expected.candidates.sort("pair_id"))
    assert made.reused == expected.reused == 0


def test_what_is_open_is_told_and_resolved_by_rule() -> None:
    judge = Asked()
    made = resolved(BOTH, judge, beside=True)
    (found,) = judge.found
    assert found is not None
    assert found.unsettled == {
        "BETHIA MOUAT", "AGNES MOUAT", "MOUAT", "BRINEFIELD SHIPPING", "BRINEFEILD SHIPPING"
    }  # fmt: skip
    assert entity_of(found.aliases, "BRINEFEILD SHIPPING") == "BRINEFEILD SHIPPING"
    assert entity_of(made.aliases, "BRINEFEILD SHIPPING") == entity_of(made.aliases, "BRINEFIELD SHIPPING")
    settled = pl.col("entity").is_in(sorted(found.unsettled)).not_()
    assert made.aliases.filter(settled).equals(found.aliases.filter(settled))


def test_nothing_is_found_out_beside_a_judge_that_has_ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "_AT_ONCE", 60)
    asked: list[Callable[[], ByRule | None]] = []
    resolve_corpus(*frames_of(BOTH), Decisions(), Asked(), meanwhile=asked.append)
    (by_rule,) = asked
    assert by_rule() is None
