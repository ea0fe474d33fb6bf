"""Questions that take several steps, split by a model; off by default (``search.decompose``).

Each step is answered from the text units found for it, with the answers so far filled in. The question itself
is then answered, as ever, from one context: of what was found for it and for its steps, taken in turn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.lazy_values import AsRead
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.questions.context.answer import Answer, Call, section
from graphrag_dagster.kernel.questions.question import Search, validate_question
from graphrag_dagster.kernel.tasks.answering_ports import STEP_REFERENCE, Decomposer
from graphrag_dagster.kernel.tasks.task_ports import Usage
from graphrag_dagster.systems.graphrag.search.context_builder import ContextBuilder
from graphrag_dagster.systems.graphrag.tasks import DECOMPOSER

#: Questions that one is split into, at most; each reads this share of the context's tokens.
MOST_STEPS = 4
STEP_SHARE = 1 / MOST_STEPS
_LEAST_TOKENS = 200
#: Title of the trace section with the questions.
STEPS = "Steps of the question"
_HEADERS: Mapping[ContextKind, str] = {"source": "Sources\nid|title|text"}


@dataclass(frozen=True, slots=True)
class Found:
    """Ids of the text units, and of the entities, that were found for a question, best first."""

    units: Sequence[str]
    entities: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    question: str
    answer: str = ""
    problem: str | None = None


@dataclass
class Decomposition:
    """How a question was split, and what was found for it and its steps."""

    found: Found
    note: str | None = None
    calls: list[Call] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def told(self, made: Answer) -> Answer:
        """Return an answer with the steps, their calls and problems, and their usage."""
        rows = ((one.question, one.answer or None, one.problem) for one in self.steps)
        sections = [section(STEPS, ("question", "answer", "problem"), rows)] if self.steps else []
        return replace(
            made,
            why="; ".join(filter(None, (made.why, self.note))) or None,
            steps=(*self.calls, *made.steps),
            trace=(*made.trace, *sections),
            usage=self.usage + made.usage,
            problems=(*(f"{one.task}: {one.problem}" for one in self.calls if one.problem), *made.problems),
        )


def decompose(search: Search, found: Found, find: Callable[[str], Found]) -> Decomposition:
    """Return what is found for a question and for the steps it is split into, if that is switched on.

    Args:
        search: the question.
        found: what is found for it.
        find: finds the same for a step.

    Raises:
        EndpointError: the endpoint cannot be used.
    """
    if not search.options.decompose:
        return Decomposition(found)
    decomposer = search.engines.task(DECOMPOSER)
    if decomposer is None:
        return Decomposition(
            found, "not split into steps (search.decompose), since the engine of search asks no model"
        )
    split = decomposer.split(search.question.text, MOST_STEPS, search.question.history)
    # A single question is the same one in other words.
    questions = split.questions if len(split.questions) > 1 else ()
    made = Decomposition(found, usage=split.usage)
    about = plural(len(questions), "step") if questions else "no steps"
    made.calls.append(Call("decompose", about, used=bool(questions), problem=split.problem))
    made.note = f"split into {about}" if questions else "not split into steps"
    every = [found]
    for question in questions:
        _take_step(search, decomposer, question, find, made, every)
    made.found = Found(
        AsRead(_in_turn([one.units for one in every])), AsRead(_in_turn([one.entities for one in every]))
    )
    return made


def _take_step(
    search: Search,
    decomposer: Decomposer,
    question: str,
    find: Callable[[str], Found],
    made: Decomposition,
    every: list[Found],
) -> None:
    known = [one.answer for one in made.steps]
    lacking = [f"#{number}" for number in STEP_REFERENCE.findall(question) if not known[int(number) - 1]]
    if lacking:
        made.steps.append(_Step(question, problem=f"not asked, since {lacking[0]} has no answer"))
        return
    try:
        asked = validate_question(STEP_REFERENCE.sub(lambda match: known[int(match[1]) - 1], question))
    except QuestionError as error:
        made.steps.append(_Step(question, problem=f"not asked: {error}"))
        return
    every.append(find(asked))
    room = max(int(search.options.context_tokens * STEP_SHARE), _LEAST_TOKENS)
    builder = ContextBuilder(search.index, search.count, room, _HEADERS)
    builder.take_sources(every[-1].units, room)
    context = builder.context()
    if not context.rows:
        made.steps.append(_Step(asked, problem="no context was found"))
        return
    answer = decomposer.answer(asked, context.rendered)
    made.usage += answer.usage
    made.calls.append(
        Call("step", asked, None, sum(context.row_tokens), bool(answer.text), problem=answer.problem)
    )
    made.steps.append(_Step(asked, answer.text, answer.problem))


def _in_turn(lists: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the first of each list, then the second of each and so on, each once."""
    given: set[str] = set()
    for one in chain.from_iterable(zip_longest(*lists)):
        if one is not None and one not in given:
            given.add(one)
            yield one
