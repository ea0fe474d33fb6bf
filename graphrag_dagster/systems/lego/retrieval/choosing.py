"""Which of the paths that a step makes stay in the beam (spec_lego §4, §7)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.graph.arrays import Longs
from graphrag_dagster.kernel.graph.verbalised import first_by_score
from graphrag_dagster.systems.lego.retrieval.judging import Judging
from graphrag_dagster.systems.lego.retrieval.oneshot import supplemented
from graphrag_dagster.systems.lego.retrieval.walks import Ground, Walks

#: With dynamic pruning a beam has at most so many times as many paths.
WIDEST = 4


class Choice(Protocol):
    """Chooses the beam."""

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those of the walks, one or more, that stay, best first."""


@dataclass(frozen=True, slots=True)
class ByScore:
    """ISAR-EEMs: the ``beam`` best.

    Attributes:
        beam: how many.
        triple_level: by the last triple, not by the whole path.
        dynamic: as many as :func:`not_below` keeps, at most four times ``beam``.
        percentile: see there.
    """

    beam: int
    triple_level: bool = False
    dynamic: bool = False
    percentile: float | None = None

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those that stay; see the port."""
        texts = ground.texts(walks)
        if self.triple_level:
            scores = judging.scores(ground.last_triples(walks.nodes[:, -2], walks.taken[:, -1]))
        else:
            scores = judging.scores(texts)
        if not self.dynamic:
            return first_by_score(scores, texts, self.beam)
        kept = np.flatnonzero(not_below(scores, self.percentile))
        return kept[first_by_score(scores[kept], texts.at(kept), WIDEST * self.beam)]


@dataclass(frozen=True, slots=True)
class BySelection:
    """ISAR-LLMs: the first ``beam`` that the selector names; none where it names none.

    Attributes:
        beam: how many.
        prefilter: the selector is shown so many, the best (EEMs-PF); 0: all, best first.
        supplement: what it does not name is filled up with the best (EEMs-S).
    """

    beam: int
    prefilter: int = 0
    supplement: bool = False

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those that stay; see the port."""
        texts = ground.texts(walks)
        best, _ = judging.best(texts, self.prefilter or -1)
        chosen = judging.selected("subgraph", texts.at(best), self.beam)[: self.beam]
        if self.supplement:
            chosen = supplemented(chosen, len(best), self.beam)
        return best[chosen]


def not_below(scores: Scores, percentile: float | None = None) -> NDArray[np.bool_]:
    """Return which scores, brought to 0…1, are not below their mean, or a percentile of them.

    Of equal scores all are kept.
    """
    least, width = scores.min(), np.ptp(scores)
    if not width:
        return np.ones(len(scores), dtype=np.bool_)
    brought = comparable((scores - least) / width)
    border = brought.mean() if percentile is None else np.percentile(brought, percentile)
    return brought >= comparable(np.asarray(border))
