"""Which communities a question is about: by similarity of summaries, ranked by the terms they cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.core.coterag.options import CoverageRule, Thresholds
from graphrag_dagster.core.ranks import Scores

MatchClass = Literal["high_confidence", "high_similarity", "dropped"]


@dataclass(frozen=True, slots=True)
class CommunityMatch:
    """How well a community matches a question, and whether it was selected; ``score`` ranks its class."""

    community_id: str
    similarity: float
    coverage: float
    score: float
    match_class: MatchClass
    selected: bool


def matched(
    ids: Sequence[str],
    similarity: Scores,
    coverage: Scores,
    thresholds: Thresholds,
    *,
    rule: CoverageRule = "class",
    most: int = 3,
    scores: Scores | None = None,
) -> list[CommunityMatch]:
    """Return the communities whose similarity exceeds its threshold, selected ones first, in order.

    High confidence: the coverage exceeds its threshold too. These come first, then those of high similarity
    alone, each by score descending, then id.

    Args:
        ids: of the communities.
        similarity: cosine of the question with each summary.
        coverage: share of the question's terms in each community's.
        thresholds: both must be exceeded, not only reached.
        rule: ``class`` as above; ``strict`` drops what is of high similarity alone; ``all`` has both in one
            order.
        most: how many are selected.
        scores: of the communities; default: the similarity.
    """
    ranked = similarity if scores is None else scores
    near = [place for place in range(len(ids)) if similarity[place] > thresholds.community]
    classes: dict[int, MatchClass] = {
        place: "high_confidence"
        if coverage[place] > thresholds.coverage
        else "dropped"
        if rule == "strict"
        else "high_similarity"
        for place in near
    }
    ranks = ("high_confidence", "high_similarity", "dropped")

    def key(place: int) -> tuple[int, float, str]:
        rank = 0 if rule == "all" else ranks.index(classes[place])
        return rank, -float(ranked[place]), ids[place]

    found = []
    for rank, place in enumerate(sorted(near, key=key)):
        kept = rank < most and classes[place] != "dropped"
        found.append(
            CommunityMatch(
                ids[place],
                float(similarity[place]),
                float(coverage[place]),
                float(ranked[place]),
                classes[place],
                kept,
            )
        )
    return found
