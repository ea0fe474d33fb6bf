import json
from collections.abc import Sequence
from dataclasses import fields

import polars as pl
import pytest

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import REFUSAL
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, FinalAnswer, PartialAnswer
from graphrag_dagster.systems.graphrag.search.global_search import global_search
from graphrag_dagster.systems.graphrag.search.map_reduce import best_that_fit
from support.index_frames import DOCUMENT, index_of
from support.questions import asked_of

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


class Judge:
    """An answerer with given texts and scores, as they come, for the first chunks."""

    engine: Engine = "llm"

    def __init__(self, *answers: tuple[str, object]) -> None:
        self.answers, self.reduced = answers, []

    def map(self, question, chunks, rendered) -> list[PartialAnswer]:
        known = [PartialAnswer(text, score) for text, score in self.answers]
        return [*known, *(PartialAnswer("", 0) for _ in chunks)][: len(chunks)]

    def reduce(self, question, partials) -> FinalAnswer:
        self.reduced = [(partial.text, partial.score) for partial in partials]
        return FinalAnswer("joined", "llm")


def ask(answerer: object, tokens: int = 60, **options: object) -> Answer:
    given = {"context_tokens": tokens, **options}
    return global_search(
        asked_of(index_of(REPORTS), "Why?", "C0", count=words, answerer=answerer, options=given)
    )


def test_scores_decide_the_order_and_zero_and_nonsense_are_dropped() -> None:
    judge = Judge(("a", 80), ("b", 0), ("c", 100), ("d", "abc"))
    answer = ask(judge)
    assert judge.reduced == [("c", 100), ("a", 80)]
    assert answer.scores[:4] == (80, 0, 100, 0)
    assert answer.dropped == len(answer.scores) - 2


def test_equal_scores_keep_the_order_of_the_chunks_and_all_stay_within_0_and_100() -> None:
    judge = Judge(("a", 70), ("b", 170), ("c", 100), ("d", 70.4), ("e", -5), ("f", float("nan")))
    answer = ask(judge, 35)
    assert [text for text, _ in judge.reduced] == ["b", "c", "a", "d"]
    assert answer.scores[:6] == (70, 100, 100, 70, 0, 0)


def test_the_fill_stops_at_the_first_that_does_not_fit() -> None:
    answers = [PartialAnswer("five " * 5, 100), PartialAnswer("nine " * 9, 90), PartialAnswer("one", 80)]
    assert [partial.score for partial in best_that_fit(answers, words, 7)] == [100]
    with pytest.raises(QuestionError, match=r"search\.context_tokens"):
        best_that_fit(answers, words, 4)


def test_one_partial_answer_per_chunk_is_wanted() -> None:
    class Lazy(Judge):
        def map(self, question, chunks, rendered) -> list[PartialAnswer]:
            return super().map(question, chunks, rendered)[:1]

    with pytest.raises(EngineError, match="1 partial answers for"):
        ask(Lazy(("a", 80)))


def test_a_partial_answer_cites_only_what_its_chunk_holds() -> None:
    judge = Judge(("a [Data: Reports (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99)]", 80))
    answer = ask(judge)
    shown = [use for use in answer.context if use.chunk == 0]
    assert judge.reduced[0][0].count(",") == len(shown) - 1
    assert answer.removed_citations == 13 - len(shown)
    assert [use.used for use in answer.context] == [use.chunk == 0 for use in answer.context]


def test_an_answer_without_words_is_a_refusal() -> None:
    class Silent(Judge):
        def reduce(self, question, partials) -> FinalAnswer:
            return FinalAnswer(" [Data: Reports (99)]", "llm")

    answer = ask(Silent(("a", 80)))
    assert (answer.refused, answer.text, answer.sources) == (True, REFUSAL, ())


def test_the_order_of_rows_changes_nothing_and_the_seed_does() -> None:
    index = index_of(REPORTS)
    made = {field.name: getattr(index, field.name) for field in fields(index)}
    frames = {name: frame.reverse() for name, frame in made.items() if isinstance(frame, pl.DataFrame)}
    shown = []
    for some, seed in ((index, 1), (IndexSnapshot(**frames), 1), (index, 2)):
        judge = Judge(("a [Data: Reports (1)]", 80), ("b [Data: Reports (2, 3, 4, 5)]", 70))
        options = {"context_tokens": 60, "seed": seed}
        answer = global_search(asked_of(some, "Why?", "C0", count=words, answerer=judge, options=options))
        shown.append(json.dumps(answer.to_dict()))
    assert shown[0] == shown[1] != shown[2]


def test_nothing_useful_is_a_refusal_without_a_reduce_call() -> None:
    scorer = Scorer([0])
    answer = ask(scorer)
    assert answer.refused
    assert answer.text == REFUSAL
    assert not scorer.reduced
    assert answer.usage.calls == len(answer.scores) > 1


def test_calls_are_chunks_plus_one_and_every_report_is_used_once() -> None:
    options = {"context_tokens": 60}
    answer = global_search(
        asked_of(index_of(REPORTS), "Why?", "C2", count=words, answerer=Scorer([50]), options=options)
    )
    assert answer.usage.calls == answer.calls == len(answer.scores) + 1
    assert sorted(use.record_id for use in answer.context) == sorted(f"r{n}" for n in range(12))


def test_citations_of_a_model_become_numbered_sources_and_invented_ones_go() -> None:
    scorer = Scorer([50], "Built in 1998 [Data: Reports (1, 99)]. Opposed [Data: Reports (2); Entities (4)].")
    answer = global_search(asked_of(index_of(REPORTS), "Why?", "C0", count=words, answerer=scorer))
    assert answer.text == "Built in 1998 [1]. Opposed [2]."
    assert answer.removed_citations == 2
    first = answer.sources[0]
    assert (first.evidence.path, first.evidence.quotation) == (
        "a/doc.txt",
        "The quay was built by Orrin Vask in 1998.",
    )
    assert ("12345" + DOCUMENT)[
        first.evidence.start_char : first.evidence.end_char
    ] == first.evidence.quotation
    json.dumps(answer.to_dict())


def test_an_extractive_answer_quotes_and_cites_each_sentence() -> None:
    index = index_of({"The quay": "About the quay.", "The merger": "About the merger."})
    answerer = ExtractiveAnswerer(StaticEmbedder())
    answer = global_search(asked_of(index, "Who built the quay?", "C1", count=words, answerer=answerer))
    assert answer.engine == "extractive"
    assert answer.text.startswith("**The quay**\n\nThe quay was built by Orrin Vask in 1998. [1]")
    assert answer.text_in_bold.startswith("**The quay**\n\nThe quay was built by **Orrin Vask** in 1998. [1]")
    assert [answer.text[mark.start : mark.end] for mark in answer.marks] == ["Orrin Vask"]
    assert all(source.evidence.quotation in DOCUMENT for source in answer.sources)


def test_an_extractive_answer_to_something_else_is_a_refusal() -> None:
    answerer = ExtractiveAnswerer(StaticEmbedder())
    answer = global_search(
        asked_of(index_of(REPORTS), "How do I bake sourdough?", "C0", count=words, answerer=answerer)
    )
    assert answer.refused


@pytest.mark.parametrize("question", ["", "  \n", "?!", "x" * 4001])
def test_a_question_that_cannot_be_answered_is_refused(question: str) -> None:
    with pytest.raises(QuestionError, match="question"):
        asked_of(index_of(REPORTS), question, "C0", count=words, answerer=Scorer([1]))


@pytest.mark.parametrize("level", [-1, 4])
def test_an_unknown_level_names_those_there_are(level: int) -> None:
    with pytest.raises(QuestionError, match=f"no level C{level}; there are C0, C1, C2, C3"):
        global_search(
            asked_of(index_of(REPORTS), "Why?", "global", level=level, count=words, answerer=Scorer([1]))
        )


def test_a_corpus_without_reports_says_what_to_do() -> None:
    with pytest.raises(QuestionError, match="no community reports"):
        global_search(asked_of(index_of({}), "Why?", "C0", count=words, answerer=Scorer([1])))
