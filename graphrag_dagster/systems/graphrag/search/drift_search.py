"""DRIFT: a first answer from reports, then follow-up questions that are answered by local search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer, Call, ContextUse
from graphrag_dagster.kernel.questions.context.context_chunks import first_that_fit, render, row
from graphrag_dagster.kernel.questions.context.context_rows import LocalContext, ReportUnits
from graphrag_dagster.kernel.questions.context.context_units import CombinedUnits
from graphrag_dagster.kernel.questions.finding import (
    linked_names_section,
    names_in_question,
    nearest_reports,
    with_retrieval_trace,
)
from graphrag_dagster.kernel.questions.question import REFUSAL, Search, validate_question
from graphrag_dagster.kernel.tasks.answering_ports import Exploration, FollowUp, FollowUpExplorer
from graphrag_dagster.kernel.tasks.task_ports import Answerer, ContextUnit, PartialAnswer
from graphrag_dagster.kernel.text.citations import Citation, parse_citations, rewrite_citations
from graphrag_dagster.systems.graphrag.search.local_search import context_around
from graphrag_dagster.systems.graphrag.search.map_reduce import best_that_fit, finish_answer, score_of
from graphrag_dagster.systems.graphrag.tasks import ANSWERER, EXPLORER

if TYPE_CHECKING:
    from graphrag_dagster.kernel.retrieval.rerankers import Reranked


def drift(search: Search) -> Answer:
    """Answer a question from the reports nearest to it, and from what is around its follow-up questions."""
    reranked: list[Reranked] = []

    def contexts(questions: Sequence[str]) -> list[LocalContext]:
        found = [context_around(search, one) for one in questions]
        reranked.extend(one for _, done in found for one in done)
        return [context for context, _ in found]

    # Reports were written from all documents, so that they prime nothing about selected ones.
    reports = nearest_reports(search) if search.favour.selected is None else []
    made = drift_search(search, local=contexts, reports=reports)
    return with_retrieval_trace(
        search, replace(made, trace=linked_names_section(names_in_question(search))), made.why, reranked
    )


def drift_search(
    search: Search, *, local: Callable[[Sequence[str]], Sequence[LocalContext]], reports: Sequence[str]
) -> Answer:
    """Answer a question by asking on from what the reports nearest to it say.

    The primer answers from reports and asks follow-up questions. In each round the best open ones, those of
    the most helpful answers, are answered from their local contexts, and ask further. Where the primer asks
    nothing, or there is nothing to prime from, the question itself is asked locally. All intermediate answers
    that score above 0 are joined, the best first while they fit. At most 1 + steps · follow_ups + 1 calls.

    Args:
        search: the question.
        local: gives the local context of each of several questions.
        reports: ids of reports, the nearest to the question first.

    Raises:
        QuestionError: the context cannot hold the beginning of a report or the best intermediate answer.
        EngineError: a context or an intermediate answer is missing, or no usable answer came.
    """
    explorer, answerer = search.engines.task(EXPLORER), search.engines.task(ANSWERER)
    options, count = search.options, search.count
    course = _Drift(search, explorer)
    reading = course.prime(reports, options.context_tokens)
    rounds = 0
    while rounds < options.steps and (batch := course.next()):
        course.follow(batch, local(batch))
        rounds += 1
    kept = best_that_fit(course.partials, count, options.context_tokens)
    answer = course.account(kept, answerer, f"{reading}, {course.summary(rounds)}")
    if not kept:
        return answer
    final = answerer.reduce(search.question.text, kept)
    joined = Call("reduce", f"{len(kept)} intermediate answers", None, sum(count(one.text) for one in kept))
    answer = replace(answer, steps=(*answer.steps, joined))
    return finish_answer(answer, final, course.units, course.shown(kept), search.supporting)


@dataclass(slots=True)
class _DriftAnswer:
    """An intermediate answer with the numbers and tokens of the rows it was made from."""

    call: Call
    partial: PartialAnswer
    numbers: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


class _Drift:
    """Questions asked and answers found so far."""

    def __init__(self, search: Search, explorer: FollowUpExplorer) -> None:
        self._index = search.index
        self._explorer = explorer
        self._count = search.count
        self._most = search.options.follow_ups
        self._method = search.method.name
        self._open = OpenQuestions(search.question.text, search.options.seed)
        self._asked = [search.question.text]
        self._itself = False
        self._parts: list[_DriftAnswer] = []
        self._removed = 0
        self._problems: list[str] = []
        self.units = CombinedUnits(search.index)

    @property
    def partials(self) -> list[PartialAnswer]:
        """The intermediate answers, in the order in which they came."""
        return [part.partial for part in self._parts]

    def prime(self, ids: Sequence[str], limit: int) -> str:
        """Answer from the best reports that fit; say how many these are."""
        frame = self._index.reports.filter(pl.col("report_id").is_in(list(ids)))
        units = ReportUnits(self._index, frame)
        best = [units.all[units.number_of[one] - 1] for one in dict.fromkeys(ids) if one in units.number_of]
        rows: list[ContextUnit] = []
        for chunk in first_that_fit(best, count=self._count, limit=limit):
            # The rank decides which reports are read; their order in the prompt must not depend on it.
            rows = sorted(chunk.units, key=lambda unit: unit.id)
            context = LocalContext(units, rows, render(rows))
            explored = self._explorer.primer(self._asked[0], rows, context.rendered, self._most)
            self._take(explored, context, "primer", plural(len(rows), "report"))
        return f"{plural(len(rows), 'report')} read first"

    def next(self) -> list[str]:
        """Return the best open questions; where the primer asked nothing, the question itself."""
        if self._open or self._itself or self._asked[1:]:
            return self._open.take(self._most)
        self._itself = True
        return self._asked[:1]

    def follow(self, batch: Sequence[str], contexts: Sequence[LocalContext]) -> None:
        """Answer questions from their contexts; one for which nothing was found is not answered."""
        if len(contexts) != len(batch):
            raise EngineError(f"{len(contexts)} local contexts were made for {len(batch)} questions")
        self._asked += [one for one in batch if one != self._asked[0]]
        found = [(one, context) for one, context in zip(batch, contexts, strict=True) if context.rows]
        steps = [FollowUp(one, context.rows, context.rendered) for one, context in found]
        answers = self._explorer.follow(self._asked, steps, self._most) if steps else []
        if len(answers) != len(steps):
            raise EngineError(
                f"the {self._explorer.engine} explorer returned {len(answers)} answers to {len(steps)} "
                "questions"
            )
        given = iter(answers)
        for one, context in zip(batch, contexts, strict=True):
            if context.rows:
                self._take(next(given), context, "step", one)
            else:
                self._take(Exploration("", 0, problem="no context was found"), context, "step", one)

    def _take(self, explored: Exploration, context: LocalContext, task: str, about: str) -> None:
        numbers = self.units.add(context.units, context.rows)
        cited = parse_citations(explored.text)
        self._removed += sum(one not in numbers for one in cited)
        by_id = {cited.id: number for cited, number in numbers.items()}
        partial = PartialAnswer(
            rewrite_citations(explored.text, numbers),
            explored.score,
            tuple(dict.fromkeys(numbers[one] for one in cited if one in numbers)),
            tuple((text, by_id[own], quote) for text, own, quote in explored.quotes if own in by_id),
            explored.problem,
            explored.usage,
            points=tuple(point.renumbered(by_id) for point in explored.points),
        )
        if explored.problem:
            self._problems.append(f"{about}: {explored.problem}")
        tokens = tuple(context.row_tokens) or tuple(self._count("\n" + row(one)) for one in context.rows)
        read = self._count(context.rendered)
        call = Call(task, about, score_of(partial), read, problem=explored.problem)
        rows = tuple(numbers[Citation(context.units.kind(one.id), one.id)] for one in context.rows)
        self._parts.append(_DriftAnswer(call, partial, rows, tokens))
        self._open.add(explored.follow_ups[: self._most], score_of(partial))

    def shown(self, kept: Sequence[PartialAnswer]) -> set[int]:
        """Return the numbers of the rows that the kept answers were made from."""
        return {number for part in self._parts if _is_among(part.partial, kept) for number in part.numbers}

    def account(self, kept: Sequence[PartialAnswer], answerer: Answerer, why: str) -> Answer:
        """Return the refusal, with all that was asked and read so far."""
        used = [_is_among(part.partial, kept) for part in self._parts]
        return Answer(
            self._asked[0],
            self._method,
            None,
            REFUSAL,
            answerer.engine,
            refused=True,
            why=why,
            context=tuple(
                ContextUse(
                    self.units.kind(number),
                    self.units.record_id(number),
                    self.units.title(number),
                    place,
                    tokens,
                    used[place],
                )
                for place, part in enumerate(self._parts)
                for number, tokens in zip(part.numbers, part.tokens, strict=True)
            ),
            scores=tuple(score_of(part.partial) for part in self._parts),
            dropped=len(self._parts) - len(kept),
            removed_citations=self._removed,
            problems=(*self._problems, *self._open.problems),
            steps=tuple(replace(part.call, used=one) for part, one in zip(self._parts, used, strict=True)),
            usage=sum((part.partial.usage for part in self._parts), Usage()),
        )

    def summary(self, rounds: int) -> str:
        """Say how many questions were asked, and what was left."""
        asked = plural(len(self._asked) - 1, "follow-up question")
        left = f"; {len(self._open)} more were left open" if self._open else ""
        if self._itself:
            itself = "no follow-up question came of that, so the question itself was asked"
            return f"{itself}; {asked} in {plural(rounds - 1, 'round')} after it{left}"
        return f"{asked} asked in {plural(rounds, 'round')}{left}"


def _is_among(partial: PartialAnswer, kept: Sequence[PartialAnswer]) -> bool:
    return any(partial is one for one in kept)


class OpenQuestions:
    """Questions to ask, the best first, each once; never the question they are to help with.

    Those of more helpful answers come first, then those that stand first in their answer; the seed decides
    between equally good ones. Case, blanks and punctuation make no other question.
    """

    def __init__(self, question: str, seed: int) -> None:
        self._seed = seed
        self._known = {normalise_question(question)}
        self._open: dict[str, tuple[int, int, str]] = {}
        self.problems: list[str] = []

    def __len__(self) -> int:
        return len(self._open)

    def add(self, follow_ups: Sequence[str], score: int) -> None:
        """Take in what an answer with that score asks; what cannot be asked becomes a problem."""
        for place, text in enumerate(follow_ups):
            key = normalise_question(text)
            if key in self._known:
                continue
            self._known.add(key)
            try:
                self._open[validate_question(text)] = (-score, place, stable_id(self._seed, key))
            except QuestionError as problem:
                self.problems.append(f"a follow-up question could not be asked: {problem}")

    def take(self, most: int) -> list[str]:
        """Take the best questions out."""
        chosen = sorted(self._open, key=self._open.__getitem__)[:most]
        for one in chosen:
            del self._open[one]
        return chosen


def normalise_question(question: str) -> str:
    """Return what two questions have in common that are the same: their letters and digits, lower case."""
    return " ".join("".join(one if one.isalnum() else " " for one in question.casefold()).split())
