"""Answers a question in rounds: route, retrieval, answer, validation, fallback to the preserved store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.coterag.search.coterag_retrieval import (
    QuestionSimilarities,
    retrieve_evidence,
    same_text,
    search_store,
)
from graphrag_dagster.systems.coterag.search.coterag_snapshot import LONGEST_NAME, CoteragSnapshot
from graphrag_dagster.systems.coterag.search.path_traversal import (
    ChunkMatch,
    FallbackRound,
    PathTriple,
    RetrievedEvidence,
    Trace,
)
from graphrag_dagster.systems.coterag.search.term_coverage import (
    QuestionTerms,
    coverage,
    folded_words,
    question_terms,
    terms,
)
from graphrag_dagster.systems.coterag.search.vector_matching import UNLIKE
from graphrag_dagster.systems.coterag.tasks import (
    AnswerValidator,
    EvidenceAnswer,
    EvidenceAnswerer,
    EvidenceRouter,
    RouteCues,
    RoutedQuestion,
    Validation,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.systems.coterag.coterag_options import SummariesShown, Trigger
    from graphrag_dagster.systems.coterag.settings import CoteragSettings


Part = Literal["summary", "path", "chunk", "fallback"]


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A row of a context.

    Attributes:
        part: where it comes from.
        unit: as answerers see it; its id is its number in the context.
        record: community or text unit that it shows; of a triple the ids of its ends and its relation.
    """

    part: Part
    unit: ContextUnit
    record: str | tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class EvidenceContext:
    """Rows in the order in which an answerer sees them."""

    rows: tuple[ContextRow, ...] = ()

    @property
    def units(self) -> list[ContextUnit]:
        """The rows as answerers see them."""
        return [row.unit for row in self.rows]

    @property
    def texts(self) -> set[str]:
        """Texts of the text units, as they are told apart."""
        return {same_text(row.unit.text) for row in self.rows if row.part in {"chunk", "fallback"}}

    @property
    def stems(self) -> set[str]:
        """Terms of all rows."""
        return {one for row in self.rows for text in (row.unit.title, row.unit.text) for one in terms(text)}

    def nodes(self) -> list[str]:
        """Return the ranked list by which contextual precision is measured: all paths are one node."""
        paths = [row.unit.text for row in self.rows if row.part == "path"]
        found: list[str] = []
        for row in self.rows:
            if row.part != "path":
                found.append(row.unit.text)
            elif paths:
                found.append("\n".join(paths))
                paths = []
        return found

    def with_chunks(
        self, index: CoteragSnapshot, chunks: Sequence[ChunkMatch], part: Part
    ) -> EvidenceContext:
        """Return the context with further text units behind it."""
        rows = list(self.rows)
        for one in chunks:
            title, text = index.texts[one.text_unit_id]
            sentences = tuple(
                (" ".join(text[span.start : span.end].split()), Quote(one.text_unit_id, span))
                for span in sentence_spans(text)
            )
            unit = ContextUnit(len(rows) + 1, title, text, sentences, "source")
            rows.append(ContextRow(part, unit, one.text_unit_id))
        return EvidenceContext(tuple(rows))


def first_context(index: CoteragSnapshot, found: RetrievedEvidence, shown: SummariesShown) -> EvidenceContext:
    """Return the context of what the main graph gave.

    Args:
        index: has the texts.
        found: what is shown.
        shown: of the summaries: all, that of the best community, or none.
    """
    selected = {"all": found.selected, "best": found.selected[:1], "none": []}[shown]
    rows: list[ContextRow] = []
    for community in selected:
        title, text = index.summary_of[community]
        rows.append(ContextRow("summary", ContextUnit(len(rows) + 1, title, text), community))
    for triple in found.triples:
        title, text = _triple_words(index, triple)
        unit = ContextUnit(len(rows) + 1, title, text, kind="relationship")
        rows.append(ContextRow("path", unit, (triple.head, triple.relation, triple.tail)))
    return EvidenceContext(tuple(rows)).with_chunks(index, found.chunks, "chunk")


def _triple_words(index: CoteragSnapshot, triple: PathTriple) -> tuple[str, str]:
    head, tail = index.titles[triple.head], index.titles[triple.tail]
    return f"{head} – {tail}", f"{head} {triple.relation} {tail}."


def route_cues(question: str, asked: QuestionSimilarities) -> RouteCues:
    """Return the names of entities that stand in a question, and how near the nearest entity is.

    Names are compared by their words, without case and accents; one of stop words alone does not count.
    """
    known = asked.index.known_names
    names = dict.fromkeys(known[words] for words in _word_runs(question) if words in known)
    nearest = float(asked.entities.max()) if len(asked.entities) else UNLIKE
    return RouteCues(tuple(names), nearest, asked.index.route)


def _word_runs(question: str) -> Iterable[str]:
    """Every run of words, longer ones first."""
    words = list(folded_words(question))
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        yield from (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


@dataclass(frozen=True, slots=True)
class Supported:
    """Share of an answer's statements that what they cite supports; None where nothing can be said."""

    share: float | None
    usage: Usage = field(default_factory=Usage)


#: Judges an answer from a context.
Support = Callable[[EvidenceContext, EvidenceAnswer], Supported]


@dataclass(frozen=True, slots=True)
class CoteragEngines:
    """Who does what of an answer; without ``support`` its trigger never fires."""

    embedder: CorpusEmbedder
    router: EvidenceRouter
    answerer: EvidenceAnswerer
    validator: AnswerValidator
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class CoteragAnswer:
    """An answer.

    Attributes:
        answer: the last that was given or, where the evidence is insufficient, the best partial one.
        insufficient: the last answer asked for more that there is not.
        context: that the last answer was given from; empty for a general question.
        trace: how it came about.
        usage: of all that was asked of models.
    """

    answer: EvidenceAnswer
    insufficient: bool
    context: EvidenceContext
    trace: Trace
    usage: Usage


def run_answer_loop(
    question: str,
    index: CoteragSnapshot,
    engines: CoteragEngines,
    options: CoteragSettings,
    *,
    sought: str | None = None,
) -> CoteragAnswer:
    """Answer a question.

    Args:
        question: as checked.
        index: what is known.
        engines: who does what.
        options: how.
        sought: what is looked for, where a conversation tells more than the question; default: the question.

    Raises:
        QuestionError: the question would be embedded by another embedder than the index was.
        GraphragError: vectors cannot be compared.
    """
    asked = _question_similarities(sought or question, index, engines.embedder)
    routed = engines.router.route(question, route_cues(question, asked))
    trace = Trace(
        options.profile,
        index.thresholds,
        routed,
        blank_question=bool(len(asked.entities)) and bool((asked.entities <= -1).all()),
    )
    if routed.route == "general":
        direct = engines.answerer.answer_directly(question)
        if direct is not None:
            return CoteragAnswer(
                direct,
                direct.search_more,
                EvidenceContext(),
                replace(
                    trace, generations=1, problems=(f"answer: {direct.problem}",) if direct.problem else ()
                ),
                routed.usage + direct.usage,
            )
        reason = f"{routed.reason}; but nobody here can answer without documents"
        trace = replace(trace, route=RoutedQuestion("specific", reason, routed.problem, routed.usage))
    return _Loop(question, asked, engines, options, trace).run()


def _question_similarities(
    question: str, index: CoteragSnapshot, embedder: CorpusEmbedder
) -> QuestionSimilarities:
    for vectors in (index.descriptions, index.chunk_vectors, index.summary_vectors):
        if len(vectors.ids) and vectors.embedder != embedder.name:
            raise QuestionError(
                f"questions are embedded by {embedder.name!r}, the index was by {vectors.embedder!r}: "
                "vectors of two embedders cannot be compared; set `embeddings` back, or index again"
            )
    return QuestionSimilarities.of(index, embedder.embed_queries([question])[0])


class _Loop:
    """Answers, and searches the preserved store as long as something calls for it."""

    def __init__(
        self,
        question: str,
        asked: QuestionSimilarities,
        engines: CoteragEngines,
        options: CoteragSettings,
        trace: Trace,
    ) -> None:
        self._question = question
        self._asked = asked
        self._engines = engines
        self._options = options
        self._trace = trace
        self._terms: QuestionTerms = question_terms(question, options.coverage_unit)
        self._rounds: list[FallbackRound] = []
        self._answers: list[EvidenceAnswer] = []
        self._validations: list[Validation] = []
        self._support: float | None = None
        self._judging = Usage()
        self._context = EvidenceContext()

    def run(self) -> CoteragAnswer:
        found = retrieve_evidence(self._asked, self._terms, self._options)
        self._context = first_context(self._asked.index, found, self._options.summaries)
        self._answer()
        limit = self._options.fallback.rounds
        while trigger := self._trigger(found, may_search=len(self._rounds) < limit):
            if not self._search(trigger):
                break
            self._answer()
        return self._result(found)

    def _answer(self) -> None:
        self._answers.append(self._engines.answerer.answer(self._question, self._context.units))

    def _trigger(self, found: RetrievedEvidence, *, may_search: bool) -> Trigger | None:
        """Why the store is to be searched; the last answer is validated even if it no longer may be."""
        switches, answer = self._options.fallback, self._answers[-1]
        unmatched = not found.selected and not self._options.everywhere
        if may_search and switches.no_community and unmatched and not self._rounds:
            return "no_community"
        if answer.search_more:
            return "search_more" if switches.search_more and may_search else None
        if switches.validator:
            verdict = self._engines.validator.validate(self._question, self._context.units, answer)
            self._validations.append(verdict)
            if verdict.verdict == "insufficient" and may_search:
                return "validator"
        if switches.coverage and may_search and self._terms.units and self._share_covered() < 1:
            return "coverage"
        if switches.support and self._engines.support is not None:
            judged = self._engines.support(self._context, answer)
            self._support, self._judging = judged.share, self._judging + judged.usage
            if self._support is not None and self._support < switches.support_below and may_search:
                return "support"
        return None

    def _search(self, trigger: Trigger) -> bool:
        """Add what the store has; return whether that is anything."""
        switches, number = self._options.fallback, len(self._rounds) + 1
        most = switches.entities_of(number)
        by = self._terms if self._options.ranked_by == "terms" else None
        entities, chunks = search_store(self._asked, most, switches, self._context.texts, by)
        self._rounds.append(FallbackRound(number, trigger, most, tuple(entities), tuple(chunks)))
        self._context = self._context.with_chunks(self._asked.index, chunks, "fallback")
        return bool(chunks)

    def _problems(self) -> Iterator[str]:
        for task, made in (
            ("route", [self._trace.route]),
            ("answer", self._answers),
            ("validate", self._validations),
        ):
            yield from (f"{task}: {one.problem}" for one in made if one.problem)

    def _share_covered(self) -> float:
        return coverage(self._terms, self._context.stems)

    def _result(self, found: RetrievedEvidence) -> CoteragAnswer:
        last = self._answers[-1]
        usages = [self._trace.route.usage, *(one.usage for one in self._answers)]
        usages += [*(one.usage for one in self._validations), self._judging]
        trace = replace(
            self._trace,
            retrieved=found,
            rounds=tuple(self._rounds),
            generations=len(self._answers),
            validations=tuple(self._validations),
            problems=tuple(self._problems()),
            coverage=self._share_covered(),
            support=self._support,
        )
        index = self._asked.index
        titles = {one: index.titles.get(one) or index.summary_of[one][0] for one in trace.named}
        trace = replace(trace, titles=titles)
        best = self._best_partial() if last.search_more else last
        return CoteragAnswer(best, last.search_more, self._context, trace, sum(usages, Usage()))

    def _best_partial(self) -> EvidenceAnswer:
        """The last answer that did not ask for more, else the one that covers the most, the later of two."""
        whole = [one for one in self._answers if not one.search_more]
        said = [one for one in self._answers if one.text.strip()]
        if whole or not said:
            return (whole or self._answers)[-1]
        return max(reversed(said), key=lambda one: one.coverage or 0.0)
