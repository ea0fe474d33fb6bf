"""The claims of answers as rows, and their clusters."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.core.evaluation.claims.clusters import cluster
from graphrag_dagster.core.evaluation.claims.deduplication import repeated
from graphrag_dagster.core.language.evaluating import SentenceClaims

Rows = list[dict[str, Any]]


def claim_rows(
    answer_ids: Sequence[str], taken_apart: Iterable[Sequence[SentenceClaims]], engine: str
) -> tuple[Rows, Rows]:
    """Return the rows of ``evaluation.answer_sentences`` and ``evaluation.answer_claims``.

    Args:
        answer_ids: of the answers.
        taken_apart: the sentences of each, in the same order.
        engine: who took them apart.
    """
    sentences: Rows = []
    claims: Rows = []
    for answer_id, parts in zip(answer_ids, taken_apart, strict=True):
        sentences += [
            {
                "answer_id": answer_id,
                "position": place,
                "sentence": part.sentence,
                "state": part.state,
                "reason": part.reason,
                "claims": len(part.claims),
                "repaired": part.usage.repaired,
                "engine": engine,
            }
            for place, part in enumerate(parts)
        ]
        claims += _claims(answer_id, parts, engine)
    return sentences, claims


def _claims(answer_id: str, parts: Sequence[SentenceClaims], engine: str) -> Iterator[dict[str, Any]]:
    stated = [(place, claim) for place, part in enumerate(parts) for claim in part.claims]
    first_of = repeated([claim for _, claim in stated])
    for position, (place, claim) in enumerate(stated):
        yield {
            "answer_id": answer_id,
            "position": position,
            "sentence": place,
            "claim": claim,
            "duplicate_of": first_of.get(position),
            "engine": engine,
        }


def cluster_rows(answer_claims: pl.DataFrame, thresholds: Sequence[float]) -> pl.DataFrame:
    """Return the rows of ``evaluation.diversity_clusters``: the distinct claims of each answer, clustered.

    Args:
        answer_claims: ``answer_id``, ``position``, ``claim`` and ``duplicate_of``.
        thresholds: rising.
    """
    counted = answer_claims.filter(pl.col("duplicate_of").is_null()).sort("answer_id", "position")
    frames = []
    for (answer_id,), group in counted.group_by("answer_id", maintain_order=True):
        clusters = cluster(group["claim"].to_list(), thresholds)
        frames += [
            pl.DataFrame(
                {
                    "answer_id": [answer_id] * len(group),
                    "threshold": [threshold] * len(group),
                    "position": group["position"],
                    "cluster": clusters.at(threshold).labels,
                    "cluster_inclusive": clusters.at(threshold, inclusive=True).labels,
                }
            )
            for threshold in thresholds
        ]
    return pl.concat(frames) if frames else pl.DataFrame()
