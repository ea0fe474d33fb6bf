"""What instances made of questions, as rows of tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrag_dagster.kernel.graph.verbalised import INVERSE
from graphrag_dagster.systems.lego.instances.found import MODULES, NONE, ModuleUse, Outcome, Paths
from graphrag_dagster.systems.lego.studies.metrics.answers import Matching, NormalisedLabels
from graphrag_dagster.systems.lego.studies.metrics.scoring import question_scores

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutcomeRows:
    """Rows of ``paths.subgraphs``, ``found``, ``answers``, ``costs`` and ``scores``."""

    subgraphs: list[Row]
    found: list[Row]
    answers: list[Row]
    costs: list[Row]
    scores: list[Row]


def rows_of(
    question_id: str,
    outcome: Outcome,
    gold: Sequence[str],
    labels: NormalisedLabels,
    *,
    snapshot: str,
    options: str,
    reports: int,
    matching: Matching = "default",
) -> OutcomeRows:
    """Return an outcome as rows of each table.

    Args:
        question_id: of the question.
        outcome: what was made of it.
        gold: its answers; may be none.
        labels: of the graph.
        snapshot: index that was read.
        options: hash of what decides the outcome.
        reports: that were read beside the paths.
        matching: how gold answers are found in texts.
    """
    key = {"question_id": question_id, "instance": outcome.instance}
    subgraph, answer = outcome.subgraph, outcome.answer
    scores = question_scores(outcome, gold, matching=matching, labels=labels)
    return OutcomeRows(
        [
            {
                **key,
                "nodes": len(subgraph.nodes),
                "edges": len(subgraph.edges),
                "components": subgraph.components,
                "paths": len(outcome.paths),
                "reason": outcome.reason,
                "cut": outcome.cut,
                "snapshot": snapshot,
                "options": options,
            }
        ],
        [{**key, **row} for row in path_rows(outcome.paths, outcome.shown)],
        [
            {
                **key,
                "text": answer.text,
                "named": None if answer.named is None else list(answer.named),
                "cited": [place + 1 for place in answer.cited],
                "engine": answer.engine,
                "shown": outcome.shown,
                "reports": reports,
                "problem": answer.problem,
            }
        ],
        [{**key, "module": module, **_cost(outcome, module)} for module in MODULES],
        [{**key, **scores}],
    )


def path_rows(paths: Paths, shown: int) -> list[Row]:
    """Return the first paths as rows, with their rank, nodes and relations."""
    first = paths.at(np.arange(min(len(paths), shown)))
    store = paths.store
    return [
        {
            "rank": rank,
            "text": text,
            "entity_ids": [store.entity_ids[node] for node in nodes if node != NONE],
            "relations": [
                f"{INVERSE if against else ''}{store.relations[int(store.edge_relations[edge])]}"
                for edge, against in zip(edges, inverse, strict=True)
                if edge != NONE
            ],
            "score": score,
            "length": length,
        }
        for rank, (text, nodes, edges, inverse, score, length) in enumerate(
            zip(
                first.verbalised.texts,
                first.nodes.tolist(),
                first.edges.tolist(),
                first.inverse.tolist(),
                first.scores.tolist(),
                first.lengths.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]


def _cost(outcome: Outcome, module: Any) -> Mapping[str, Any]:
    use = outcome.uses.get(module, ModuleUse())
    return {
        "seconds": round(outcome.seconds.get(module, 0.0), 6),
        "calls": use.usage.calls,
        "input_tokens": use.usage.input_tokens,
        "output_tokens": use.usage.output_tokens,
        "scored": use.scored,
        "scored_tokens": use.scored_tokens,
        "empty": use.empty,
        "problems": "; ".join(use.problems) or None,
    }
