import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.errors import QuestionError
from graphrag_dagster.core.language.embedders import StaticEmbedder
from graphrag_dagster.core.language.extractive.answers import ExtractiveAnswerer
from graphrag_dagster.core.language.tasks import (
    ContextUnit,
    Engine,
    FinalAnswer,
    PartialAnswer,
    Usage,
)
from graphrag_dagster.core.search.chunks import fill, render
from graphrag_dagster.core.search.global_search import REFUSAL, best_that_fit, global_search
from search.index_frames import DOCUMENT, index_of

REPORTS = {f"Report {n}": f"Content of number {n}. " * 4 for n in range(12)}


def words(text: str) -> int:
    return len(text.split())


class Scorer:
    """An answerer with given scores, one per chunk, that joins what it is given."""

    engine: Engine = "llm"

    def __init__(self, scores: Sequence[int], reply: str = "joined") -> None:
        self.scores, self.reply = scores, reply
        self.reduced: list[Sequence[PartialAnswer]] = []

    def map(
        self, question: str, chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[PartialAnswer]:
        return [
            PartialAnswer(f"part {n}", self.scores[n % len(self.scores)], usage=Usage(1))
            for n, _ in enumerate(chunks)
        ]

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        self.reduced.append(partials)
        return FinalAnswer(self.reply, "llm", usage=Usage(1))


@given(
    st.lists(st.text(alphabet="ab |\n\"'", max_size=60), max_size=20), st.integers(20, 60), st.integers(0, 9)
)
def test_every_unit_is_in_exactly_one_chunk_within_the_limit(texts: list[str], limit: int, seed: int) -> None:
    units = [ContextUnit(n, f"t{n}", text) for n, text in enumerate(texts, start=1)]
    chunks = fill(units, count=len, limit=max(limit, 30), seed=seed)
    assert sorted(unit.id for chunk in chunks for unit in chunk.units) == [unit.id for unit in units]
    for chunk in chunks:
        assert len(chunk.rendered) <= max(limit, 30)
        assert chunk.rendered == render(chunk.units)
    assert chunks == fill(units, count=len, limit=max(limit, 30), seed=seed)


def test_the_order_depends_on_the_seed_alone() -> None:
    units = [ContextUnit(n, f"t{n}", "x") for n in range(30)]
    orders = [
        [u.id for c in fill(units, count=words, limit=20, seed=seed) for u in c.units] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_a_report_that_is_too_long_is_cut_and_a_hopeless_limit_named() -> None:
    unit = ContextUnit(1, "t", "word " * 100)
    (chunk,) = fill([unit], count=words, limit=20, seed=0)
    assert words(chunk.rendered) == 20
    with pytest.raises(QuestionError, match=r"search\.context_tokens"):
        fill([unit], count=len, limit=12, seed=0)


def test_scores_decide_the_order_and_zero_is_dropped() -> None:
    answers = [
        PartialAnswer("a", 80),
        PartialAnswer("b", 0),
        PartialAnswer("c", 100),
        PartialAnswer("d", 0, problem="abc"),
    ]
    assert [partial.text for partial in best_that_fit(answers, words, 100)] == ["c", "a"]


def test_the_fill_stops_at_the_first_that_does_not_fit() -> None:
    answers = [PartialAnswer("five " * 5, 100), PartialAnswer("nine " * 9, 90), PartialAnswer("one", 80)]
    assert [partial.score for partial in best_that_fit(answers, words, 7)] == [100]


def test_nothing_useful_is_a_refusal_without_a_reduce_call() -> None:
    scorer = Scorer([0])
    answer = global_search(
        index_of(REPORTS), "Why?", level=0, answerer=scorer, count=words, context_tokens=60
    )
    assert answer.refused
    assert answer.text == REFUSAL
    assert not scorer.reduced
    assert answer.usage.calls == len(answer.scores) > 1


def test_calls_are_chunks_plus_one_and_every_report_is_used_once() -> None:
    answer = global_search(
        index_of(REPORTS), "Why?", level=2, answerer=Scorer([50]), count=words, context_tokens=60
    )
    assert answer.usage.calls == len(answer.scores) + 1
    assert sorted(use.record_id for use in answer.context) == sorted(f"r{n}" for n in range(12))


def test_citations_of_a_model_become_numbered_sources_and_invented_ones_go() -> None:
    scorer = Scorer([50], "Built in 1998 [Data: Reports (1, 99)]. Opposed [Data: Reports (2); Entities (4)].")
    answer = global_search(index_of(REPORTS), "Why?", level=0, answerer=scorer, count=words)
    assert answer.text == "Built in 1998 [1]. Opposed [2]."
    assert answer.removed_citations == 2
    first = answer.sources[0]
    assert (first.path, first.quotation) == ("a/doc.txt", "The quay was built by Orrin Vask in 1998.")
    assert ("12345" + DOCUMENT)[first.start_char : first.end_char] == first.quotation
    json.dumps(answer.to_dict())


def test_an_extractive_answer_quotes_and_cites_each_sentence() -> None:
    index = index_of({"The quay": "About the quay.", "The merger": "About the merger."})
    answer = global_search(
        index, "Who built the quay?", level=1, answerer=ExtractiveAnswerer(StaticEmbedder()), count=words
    )
    assert answer.engine == "extractive"
    assert answer.text.startswith("**The quay**\n\nThe quay was built by Orrin Vask in 1998. [1]")
    assert all(source.quotation in DOCUMENT for source in answer.sources)


def test_an_extractive_answer_to_something_else_is_a_refusal() -> None:
    answerer = ExtractiveAnswerer(StaticEmbedder())
    answer = global_search(
        index_of(REPORTS), "How do I bake sourdough?", level=0, answerer=answerer, count=words
    )
    assert answer.refused


@pytest.mark.parametrize("question", ["", "  \n", "?!", "x" * 4001])
def test_a_question_that_cannot_be_answered_is_refused(question: str) -> None:
    with pytest.raises(QuestionError, match="question"):
        global_search(index_of(REPORTS), question, level=0, answerer=Scorer([1]), count=words)


@pytest.mark.parametrize("level", [-1, 4])
def test_an_unknown_level_names_those_there_are(level: int) -> None:
    with pytest.raises(QuestionError, match=f"no level C{level}; there are C0, C1, C2, C3"):
        global_search(index_of(REPORTS), "Why?", level=level, answerer=Scorer([1]), count=words)


def test_a_corpus_without_reports_says_what_to_do() -> None:
    with pytest.raises(QuestionError, match="no community reports"):
        global_search(index_of({}), "Why?", level=0, answerer=Scorer([1]), count=words)
