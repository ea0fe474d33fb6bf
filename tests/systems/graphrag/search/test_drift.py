import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.extractive_answerer import (
    ExtractiveAnswerer,
    ExtractiveExplorer,
    subject_of,
)
from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.context_rows import LocalContext, LocalUnits, quotations
from graphrag_dagster.kernel.questions.context.context_units import CombinedUnits
from graphrag_dagster.kernel.questions.question import REFUSAL
from graphrag_dagster.kernel.tasks.answering_ports import Exploration, FollowUp
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, FinalAnswer, PartialAnswer, Quote
from graphrag_dagster.kernel.text.citations import ContextKind, parse_citations
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.search.drift_search import (
    OpenQuestions,
    drift_search,
    normalise_question,
)
from support.index_frames import DOCUMENT, index_of
from support.questions import asked_of

FIRST = "The quay was built by Orrin Vask in 1998."
SECOND = "Selma Dray opposed the merger of the shipping lines."
INDEX = index_of({"The quay": "About the quay.", "The merger": "About the merger."})
REPORTS = ["r1", "r0"]
QUESTION = "What happened at the quay?"


def words(text: str) -> int:
    return len(text.split())


def source(sentence: str) -> tuple[ContextUnit, str, Quote]:
    start = DOCUMENT.index(sentence)
    quote = Quote("u", Span(start, start + len(sentence)))
    return ContextUnit(0, "Doc", sentence, ((sentence, quote),), "source"), sentence, quote


def context_of(*rows: str | tuple[ContextKind, str]) -> LocalContext:
    """A local context: sentences of the document as sources, other rows by kind and title."""
    units = LocalUnits(INDEX)
    made = []
    for row in rows:
        if isinstance(row, str):
            unit, record, quote = source(row)
            made.append(units.add(unit, record, lambda quote=quote: quotations([quote])))
        else:
            kind, title = row
            unit = ContextUnit(0, title, f"{title} stood at the quay.", kind=kind)
            made.append(units.add(unit, f"{kind} {title}", list))
    return LocalContext(units, made, "\n".join(f"{one.id}|{one.title}|{one.text}" for one in made))


class Local:
    """Gives each question its context, and remembers the questions."""

    def __init__(self, contexts: Mapping[str, LocalContext] | None = None) -> None:
        self.contexts = contexts or {}
        self.rounds: list[list[str]] = []

    def __call__(self, questions: Sequence[str]) -> list[LocalContext]:
        self.rounds.append(list(questions))
        return [self.contexts.get(one) or context_of(FIRST) for one in questions]


class Guide:
    """Explores by a list: what the primer and each question give."""

    engine: Engine = "llm"

    def __init__(self, primer: Exploration, answers: Mapping[str, Exploration] | None = None) -> None:
        self.first, self.answers = primer, answers or {}
        self.primed: list[str] = []
        self.asked: list[list[str]] = []
        self.calls = 0

    def primer(self, question: str, rows: Sequence[ContextUnit], rendered: str, most: int) -> Exploration:
        self.primed = [row.title for row in rows]
        self.calls += 1
        return replace(self.first, usage=Usage(1, 10, 1))

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        self.asked.append(list(asked))
        self.calls += len(steps)
        return [
            replace(self.answers.get(step.question, Exploration("", 0)), usage=Usage(1, 10, 1))
            for step in steps
        ]


class Joiner:
    """Joins what it is given."""

    engine: Engine = "llm"

    def __init__(self) -> None:
        self.reduced: list[Sequence[PartialAnswer]] = []

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        self.reduced.append(partials)
        return FinalAnswer(" ".join(one.text for one in partials), "llm", usage=Usage(1, 5, 5))


def ask(
    guide: object, local: Callable[..., object] | None = None, joiner: object | None = None, **options: object
) -> Answer:
    """Answer; ``reports`` is an argument of its own."""
    reports = options.pop("reports", REPORTS)
    chosen = {"context_tokens": 500, **options}
    engines = {"explorer": guide, "answerer": joiner or Joiner()}
    asked = asked_of(INDEX, QUESTION, "drift", count=words, options=chosen, **engines)
    return drift_search(asked, local=local or Local(), reports=reports)


def test_numbers_that_collide_between_contexts_become_different_and_resolve() -> None:
    guide = Guide(
        Exploration("A merger [Data: Reports (1)].", 40, ("Who built?", "Who opposed?")),
        {
            "Who built?": Exploration("Vask built the quay in 1998 [Data: Sources (1)].", 90),
            "Who opposed?": Exploration("Dray opposed the merger [Data: Sources (1)].", 80),
        },
    )
    joiner = Joiner()
    answer = ask(guide, Local({"Who built?": context_of(FIRST), "Who opposed?": context_of(SECOND)}), joiner)
    [partials] = joiner.reduced
    assert [partial.score for partial in partials] == [90, 80, 40]
    assert [[(c.kind, c.id) for c in parse_citations(p.text)] for p in partials] == [
        [("source", 3)],
        [("source", 4)],
        [("report", 1)],
    ]
    assert [partial.units for partial in partials] == [(3,), (4,), (1,)]
    assert answer.text.startswith("Vask built the quay in 1998 [1]. Dray opposed the merger [2]. A merger [")
    assert [one.evidence.quotation for one in answer.sources[:2]] == [FIRST, SECOND]
    assert [(one.kind, one.record_id) for one in answer.sources] == [
        ("source", FIRST),
        ("source", SECOND),
        ("report", "r1"),
    ]
    for one in answer.sources:
        assert ("12345" + DOCUMENT)[one.evidence.start_char : one.evidence.end_char] == one.evidence.quotation
    assert answer.removed_citations == 0
    assert [(call.task, call.about, call.score, call.used) for call in answer.steps] == [
        ("primer", "2 reports", 40, True),
        ("step", "Who built?", 90, True),
        ("step", "Who opposed?", 80, True),
        ("reduce", "3 intermediate answers", None, True),
    ]
    assert answer.usage == Usage(4, 35, 8)
    assert (answer.method, answer.level, answer.refused) == ("drift", None, False)
    assert answer.why == "2 reports read first, 2 follow-up questions asked in 1 round"
    assert [(use.chunk, use.kind) for use in answer.context] == [
        (0, "report"),
        (0, "report"),
        (1, "source"),
        (2, "source"),
    ]
    json.dumps(answer.to_dict())


def test_a_record_has_one_number_in_all_contexts() -> None:
    units = CombinedUnits(INDEX)
    first, second = context_of(FIRST, ("entity", "Vask")), context_of(("entity", "Vask"), SECOND, FIRST)
    one, two = units.add(first.units, first.rows), units.add(second.units, second.rows)
    assert sorted(one.values()) == [1, 2]
    assert [(cited.kind, cited.id, number) for cited, number in two.items()] == [
        ("entity", 1, 2),
        ("source", 2, 3),
        ("source", 3, 1),
    ]
    assert [unit.id for unit in units.all] == [1, 2, 3]
    assert (units.kind(2), units.title(2), units.record_id(3)) == ("entity", "Vask", SECOND)
    assert INDEX.words(units.provenance(3)[0].quote) == SECOND


def test_what_an_answer_cites_outside_of_its_own_context_is_taken_out_and_counted() -> None:
    guide = Guide(
        Exploration("P [Data: Reports (1, 9)].", 10, ("Q1?", "Q2?")),
        {
            "Q1?": Exploration("A [Data: Sources (1, 2); Entities (1)].", 50),
            "Q2?": Exploration("B [Data: Sources (2)].", 40),
        },
    )
    joiner = Joiner()
    answer = ask(guide, Local({"Q2?": context_of(("entity", "Vask"), SECOND)}), joiner)
    assert answer.removed_citations == 3
    assert [partial.text for partial in joiner.reduced[0]] == [
        "A [Data: Sources (3)].",
        "B [Data: Sources (5)].",
        "P [Data: Reports (1)].",
    ]


def test_what_the_reduce_invents_is_taken_out() -> None:
    class Inventor(Joiner):
        def reduce(self, question, partials) -> FinalAnswer:
            return FinalAnswer("Built in 1998 [Data: Sources (3, 77); Reports (3)].", "llm")

    guide = Guide(Exploration("P", 0, ("Q?",)), {"Q?": Exploration("A [Data: Sources (1)].", 50)})
    answer = ask(guide, joiner=Inventor())
    assert answer.text == "Built in 1998 [1]."
    assert answer.removed_citations == 2


def test_questions_are_asked_once_and_never_the_original_again() -> None:
    again = (" what HAPPENED at the  quay", "Who built it?", "Who built it ?!", "Why?")
    guide = Guide(
        Exploration("P", 10, again),
        {"Who built it?": Exploration("A", 60, (QUESTION, "who built it", "When?", "WHY"))},
    )
    local = Local()
    answer = ask(guide, local, follow_ups=4, steps=5)
    assert local.rounds == [["Who built it?", "Why?"], ["When?"]]
    assert guide.asked == [[QUESTION, "Who built it?", "Why?"], [QUESTION, "Who built it?", "Why?", "When?"]]
    assert answer.why.endswith("3 follow-up questions asked in 2 rounds")


def test_the_best_open_questions_are_asked_first() -> None:
    guide = Guide(
        Exploration("P", 50, ("a?", "b?")),
        {"a?": Exploration("A", 20, ("a1?", "a2?")), "b?": Exploration("B", 80, ("b1?", "b2?"))},
    )
    local = Local()
    answer = ask(guide, local, follow_ups=2)
    assert local.rounds == [["a?", "b?"], ["b1?", "b2?"]]
    assert answer.why.endswith("4 follow-up questions asked in 2 rounds; 2 more were left open")


def test_the_seed_decides_between_equally_good_questions() -> None:
    def order(seed: int) -> list[str]:
        questions = OpenQuestions("?", seed)
        for name in "abcdef":
            questions.add([f"{name}?"], 50)
        return questions.take(6)

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))


def test_what_cannot_be_asked_is_told() -> None:
    questions = OpenQuestions("What?", 1)
    questions.add(["?!", "x" * 5000, "Fine?"], 10)
    assert questions.take(9) == ["Fine?"]
    assert [problem.split(":")[0] for problem in questions.problems] == [
        "a follow-up question could not be asked"
    ] * 2
    assert normalise_question("  Who -- BUILT it?") == "who built it"


@pytest.mark.parametrize(
    ("first", "reports"),
    [
        (Exploration("", 0, problem="no usable reply"), REPORTS),
        (Exploration("It says something.", 30), REPORTS),
        (Exploration("", 0, (QUESTION,)), REPORTS),
        (Exploration("never asked", 99, ("never?",)), []),
        (Exploration("never asked", 99, ("never?",)), ["unknown"]),
    ],
)
def test_without_follow_ups_the_question_itself_is_asked_locally(
    first: Exploration, reports: list[str]
) -> None:
    guide = Guide(first, {QUESTION: Exploration("Vask built it [Data: Sources (1)].", 70, ("More?",))})
    local = Local()
    answer = ask(guide, local, reports=reports)
    assert local.rounds == [[QUESTION], ["More?"]]
    assert guide.asked[0] == [QUESTION]
    assert answer.text.startswith("Vask built it [1].")
    assert "the question itself was asked; 1 follow-up question in 1 round after it" in answer.why
    assert bool(answer.problems) == bool(first.problem)
    if first.problem:
        assert answer.problems == ("2 reports: no usable reply",)


def test_the_reports_that_are_read_first_are_the_best_that_fit() -> None:
    guide = Guide(Exploration("P", 10, ("Q?",)))
    ask(guide, context_tokens=6)
    assert guide.primed == ["The merger"]
    ask(guide, reports=["r0", "r0", "r1"])
    assert guide.primed == ["The merger", "The quay"]
    with pytest.raises(QuestionError, match=r"search\.context_tokens"):
        ask(guide, context_tokens=1)


def test_where_nothing_helps_there_is_a_refusal_without_a_reduce_call() -> None:
    joiner = Joiner()
    answer = ask(Guide(Exploration("P", 0, ("Q?",)), {"Q?": Exploration("", 0)}), joiner=joiner)
    assert (answer.refused, answer.text, joiner.reduced) == (True, REFUSAL, [])
    assert (answer.scores, answer.dropped, answer.usage.calls) == ((0, 0), 2, 2)
    assert not any(call.used for call in answer.steps)
    assert not any(use.used for use in answer.context)


def test_a_question_for_which_nothing_is_found_costs_no_call() -> None:
    guide = Guide(Exploration("P", 10, ("Q1?", "Q2?")), {"Q2?": Exploration("B [Data: Sources (1)].", 40)})
    answer = ask(guide, Local({"Q1?": LocalContext(LocalUnits(INDEX), [], "")}))
    assert guide.calls == 2
    assert answer.problems == ("Q1?: no context was found",)
    assert answer.text.startswith("B [1].")


def test_what_is_missing_is_an_error() -> None:
    class Lazy(Guide):
        def follow(self, asked, steps, most) -> list[Exploration]:
            return []

    first = Exploration("P", 10, ("Q?",))
    with pytest.raises(EngineError, match="0 answers to 1 questions"):
        ask(Lazy(first))
    with pytest.raises(EngineError, match="0 local contexts were made for 1 questions"):
        ask(Guide(first), lambda _: [])
    with pytest.raises(QuestionError, match="empty"):
        asked_of(INDEX, " ", "drift", count=words, explorer=Guide(first), answerer=Joiner())


@given(steps=st.integers(0, 3), follow_ups=st.integers(1, 4), score=st.integers(0, 100))
def test_calls_are_bounded(steps: int, follow_ups: int, score: int) -> None:
    class Endless(Guide):
        number = 0

        def _more(self) -> Exploration:
            self.number += 1
            asked = tuple(f"Question {self.number} {place}?" for place in range(7))
            return Exploration(f"Answer {self.number}", score, asked, usage=Usage(1))

        def primer(self, question, rows, rendered, most) -> Exploration:
            return self._more()

        def follow(self, asked, steps, most) -> list[Exploration]:
            return [self._more() for _ in steps]

    local = Local()
    answer = ask(Endless(Exploration("", 0)), local, steps=steps, follow_ups=follow_ups)
    assert len(local.rounds) == steps
    assert all(len(one) <= follow_ups for one in local.rounds)
    assert answer.usage.calls == answer.calls <= 1 + steps * follow_ups + 1
    asked = [question for one in local.rounds for question in one]
    assert len(asked) == len(set(asked))


def test_the_extractive_explorer_quotes_and_asks_about_subjects() -> None:
    embedder = StaticEmbedder()
    rounds: list[list[str]] = []

    def local(questions: Sequence[str]) -> list[LocalContext]:
        rounds.append(list(questions))
        return [context_of(("entity", "Orrin Vask"), ("entity", "Quay"), FIRST, SECOND) for _ in questions]

    def once() -> Answer:
        rounds.clear()
        engines = {"explorer": ExtractiveExplorer(embedder), "answerer": ExtractiveAnswerer(embedder)}
        asked = asked_of(INDEX, "Who built the quay?", "drift", count=words, **engines)
        return drift_search(asked, local=local, reports=REPORTS)

    answer = once()
    assert answer.engine == "extractive"
    assert FIRST in answer.text.replace("**", "")
    assert answer.text.count("The quay was built") == 1
    assert all(one.evidence.quotation in DOCUMENT for one in answer.sources)
    assert re.search(r"1998\. \[\d\]", answer.text)
    asked = [question for one in rounds for question in one]
    assert asked[1:] == [subject_of("Who built the quay?", "Orrin Vask")]
    assert asked[0] == "Who built the quay?"
    assert answer.usage == Usage()
    assert once() == answer


def test_the_extractive_explorer_refuses_what_is_not_there() -> None:
    embedder = StaticEmbedder()
    engines = {"explorer": ExtractiveExplorer(embedder), "answerer": ExtractiveAnswerer(embedder)}
    answer = drift_search(
        asked_of(INDEX, "How do I bake sourdough?", "drift", count=words, **engines),
        local=lambda questions: [context_of(FIRST, SECOND) for _ in questions],
        reports=REPORTS,
    )
    assert answer.refused
    assert answer.sources == ()
