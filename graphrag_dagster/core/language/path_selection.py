"""The ports of LEGO-GraphRAG: who selects nodes, relations, triples and paths, and who answers from paths."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from graphrag_dagster.core.language.tasks import Engine, OfEngine, Usage
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.verbalised import Places, Verbalised

#: What is selected: whole paths after the search, paths of one step more (``subgraph``: of those that a
#: subgraph is made of), nodes, relations or triples; each has a prompt of its own. ``refinement``: whole
#: paths that were chosen before, with the prompt of ``path``.
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

    def select(self, level: Level, question: str, candidates: Verbalised, most: int) -> Selection:
        """Return those of the candidates that help to answer.

        Args:
            level: what they are.
            question: the question.
            candidates: best first; what a model cannot read any more is left out from the end.
            most: how many are wanted at most; a model may name more, and all it names are returned.
        """

    def enough(self, question: str, paths: Verbalised) -> Sufficiency:
        """Return whether the paths are enough to answer the question."""


#: What is answered where there is nothing to say.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GraphAnswer:
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
        self, question: str, paths: Verbalised, scores: Scores, reports: Sequence[str] = ()
    ) -> GraphAnswer:
        """Return an answer from the paths alone, which may be none.

        Args:
            question: the question.
            paths: best first.
            scores: of the paths [n]; zeros where nothing scored them.
            reports: of communities, behind the paths (GRAG-M).
        """
