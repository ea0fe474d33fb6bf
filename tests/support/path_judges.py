"""Scorers and selectors whose judgement a test writes down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.systems.lego.tasks import Level, Selection, Sufficiency


@dataclass
class WrittenScores:
    """Scores by text; texts that are not there have ``otherwise``."""

    by_text: Mapping[str, float] = field(default_factory=dict)
    otherwise: float = 0.0
    asked: list[list[str]] = field(default_factory=list)
    name: str = "written"

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        self.asked.append(candidates.texts)
        return np.array(
            [self.by_text.get(text, self.otherwise) for text in candidates.texts], dtype=np.float64
        )

    def tokens(self, candidates: VerbalizedRows) -> int:
        return len(candidates)


@dataclass
class WrittenSelector:
    """Selects what ``picks`` says of level and texts; ``suffices`` says when paths are enough."""

    picks: Callable[[Level, Sequence[str]], Sequence[int]]
    suffices: Callable[[Sequence[str]], bool] = lambda texts: False
    engine: Engine = "llm"
    asked: list[tuple[Level, list[str], int]] = field(default_factory=list)

    def select(self, level: Level, question: str, candidates: VerbalizedRows, most: int) -> Selection:
        self.asked.append((level, candidates.texts, most))
        places = np.array(self.picks(level, candidates.texts), dtype=np.int64)
        problem = None if len(places) else "nothing named"
        return Selection(places, len(candidates), problem=problem, usage=Usage(1, 10, 2))

    def enough(self, question: str, paths: VerbalizedRows) -> Sufficiency:
        return Sufficiency(self.suffices(paths.texts), usage=Usage(1, 5, 1))
