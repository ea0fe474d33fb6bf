"""Scorer and selector at work on one question, and what they cost."""

from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.verbalised import Places, Verbalised, first_by_score
from graphrag_dagster.systems.lego.instances.found import ModuleUse
from graphrag_dagster.systems.lego.scoring.port import PathScorer
from graphrag_dagster.systems.lego.tasks import Level, PathSelector


@dataclass
class Judging:
    """What is asked of a scorer and a selector for one question.

    Attributes:
        question: the question.
        scorer: says how well texts fit it; may be None where nothing is scored.
        selector: selects; may be None where nothing is selected.
        use: what it has cost so far.
    """

    question: str
    scorer: PathScorer | None = None
    selector: PathSelector | None = None
    use: ModuleUse = field(default_factory=ModuleUse)

    def scores(self, candidates: Verbalised) -> Scores:
        """Return the score of each candidate [n]; texts that stand there twice are scored once."""
        if self.scorer is None:
            raise ValueError("there is no scorer")
        if not len(candidates):
            return np.zeros(0)
        rows, back = _distinct(candidates)
        scores = self.scorer.scores(self.question, rows)
        self.use += ModuleUse(scored=len(rows), scored_tokens=self.scorer.tokens(rows))
        return scores if back is None else scores[back]

    def best(self, candidates: Verbalised, most: int = -1) -> tuple[Places, Scores]:
        """Return places of candidates by score, and the scores of all."""
        scores = self.scores(candidates)
        return first_by_score(scores, candidates, most), scores

    def selected(self, level: Level, candidates: Verbalised, most: int) -> Places:
        """Return the places that the selector names, in its order; none are asked for of none."""
        if self.selector is None:
            raise ValueError("there is no selector")
        if not len(candidates):
            return np.zeros(0, dtype=np.int64)
        found = self.selector.select(level, self.question, candidates, most)
        problems = () if found.problem is None else (found.problem,)
        self.use += ModuleUse(usage=found.usage, empty=int(not len(found.places)), problems=problems)
        return found.places

    def enough(self, paths: Verbalised) -> bool:
        """Return whether the selector says that paths are enough."""
        if self.selector is None:
            raise ValueError("there is no selector")
        told = self.selector.enough(self.question, paths)
        problems = () if told.problem is None else (told.problem,)
        self.use += ModuleUse(usage=told.usage, problems=problems)
        return told.enough


def _distinct(candidates: Verbalised) -> tuple[Verbalised, Places | None]:
    """Different rows, and where each candidate is among them; None where they are the candidates."""
    rows = candidates.rows
    # Sorted as one number each, which takes a tenth of the time that rows take.
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in range(rows.shape[1]):
        mixed = (mixed ^ rows[:, column].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    if len(np.unique(mixed)) == len(rows):
        return candidates, None
    _, first, back = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return candidates, None
    return candidates.at(first), back.astype(np.int64)
