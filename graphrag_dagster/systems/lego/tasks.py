"""The ports of LEGO-GraphRAG: who selects nodes, relations, triples and paths, and who answers from paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from graphrag_dagster.kernel.catalogue.tasks import LLM, Task, prompt_pairs
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.graph_labels import Places, VerbalizedRows
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import Engine, OfEngine

#: What is selected: whole paths after the search, paths of one step more (``subgraph``: of those that a
#: subgraph is made of), nodes, relations or triples; each has a prompt of its own. ``refinement``: whole
#: paths that were found or chosen before, of which those that repeat others are left out.
Level: TypeAlias = Literal["subgraph", "path", "node", "relation", "triple", "refinement"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which candidates are selected.

    Attributes:
        places: of them, without repeats, best first; may be none.
        shown: how many of the candidates were read, the first ones.
        scores: of the places [n], where who selects has some.
        problem: why the reply could not be read, else None.
        usage: of a model.
    """

    places: Places
    shown: int
    scores: Scores | None = None
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """Whether paths are enough to answer; ``problem``: why the reply could not be read, and they are not."""

    enough: bool
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class PathSelector(OfEngine, Protocol):
    """Selects among nodes, relations, triples or paths."""

    def select(self, level: Level, question: str, candidates: VerbalizedRows, most: int) -> Selection:
        """Return those of the candidates that help to answer.

        Args:
            level: what they are.
            question: the question.
            candidates: best first; what a model cannot read any more is left out from the end.
            most: how many are wanted at most; a model may name more, and all it names are returned.
        """

    def enough(self, question: str, paths: VerbalizedRows) -> Sufficiency:
        """Return whether the paths are enough to answer the question."""


#: What is answered where there is nothing to say.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """An answer from paths.

    Attributes:
        text: as people read it; ``unknown`` where there is nothing to say.
        named: what it names as answers, best first, where who answers lists them; None by a model.
        cited: for each of ``named`` the place of the path that it rests on.
        engine: who answered.
        problem: why there is no usable reply, else None.
        usage: of a model.
    """

    text: str
    engine: Engine
    named: tuple[str, ...] | None = None
    cited: tuple[int, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class PathAnswerer(OfEngine, Protocol):
    """Answers from paths."""

    def answer(
        self, question: str, paths: VerbalizedRows, scores: Scores, reports: Sequence[str] = ()
    ) -> PathAnswer:
        """Return an answer from the paths alone, which may be none.

        Args:
            question: the question.
            paths: best first.
            scores: of the paths [n]; zeros where nothing scored them.
            reports: of communities, behind the paths (GRAG-M).
        """


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer to a question, and the gold answers, any of which is one."""

    question: str
    gold: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether an answer is correct.

    Attributes:
        correct: None where no usable reply came.
        problem: why none came, else None.
        usage: all zero where no model was needed.
    """

    correct: bool | None
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


#: A blank answer is wrong, whatever a model would say of it.
BLANK = Checked(False)


class PathJudge(OfEngine, Protocol):
    """Says whether answers are correct."""

    def check(self, answers: Sequence[GivenAnswer]) -> Iterator[Checked]:
        """Yield one verdict per answer, in their order; a blank one gets :data:`BLANK` without any call."""


PATH_SELECTOR: Task[PathSelector] = Task(
    "path_selector",
    "paths",
    "select",
    (
        *(f"paths_select_{level}_system" for level in ("subgraph", "path", "node", "relation", "triple")),
        "paths_refine_system",
        "paths_select_user",
        *prompt_pairs("paths_enough"),
    ),
    waited_for=True,
)
PATH_ANSWERER: Task[PathAnswerer] = Task(
    "path_answerer",
    "paths",
    "answer",
    ("paths_reason_system", *prompt_pairs("paths_answer")),
    waited_for=True,
)
PATH_JUDGE: Task[PathJudge | None] = Task(
    "path_judge", "paths", "judge", prompt_pairs("path_judge"), done_by=(LLM,)
)

TASKS: tuple[Task[Any], ...] = (PATH_SELECTOR, PATH_ANSWERER, PATH_JUDGE)
