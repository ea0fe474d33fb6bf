"""What an instance made of a question, measured by the gold answers (spec_lego §9)."""

from collections.abc import Sequence

from graphrag_dagster.core.paths.metrics.answers import ANSWER_MEASURES, LEX, answer_scores
from graphrag_dagster.core.paths.metrics.normalising import Answers, Matching, NormalisedLabels
from graphrag_dagster.core.paths.metrics.paths import CUTS, PATH_MEASURES, path_scores
from graphrag_dagster.core.paths.metrics.subgraphs import SUBGRAPH_MEASURES, subgraph_scores
from graphrag_dagster.core.paths.outcome import Outcome

#: What is null without gold answers, and what is counted with or without them.
GOLD_MEASURES = (
    *ANSWER_MEASURES,
    *(f"{name}{LEX}" for name in ANSWER_MEASURES),
    *PATH_MEASURES,
    *SUBGRAPH_MEASURES,
)
COUNTS = ("answers", "unmatchable", "paths", "subgraph_nodes", "subgraph_edges", "wcc")


def question_scores(
    outcome: Outcome,
    answers: Sequence[str],
    *,
    matching: Matching = "default",
    labels: NormalisedLabels | None = None,
) -> dict[str, float | None]:
    """Return the measures of a question: :data:`GOLD_MEASURES`, None without gold, and :data:`COUNTS`.

    Args:
        outcome: what was made of it.
        answers: its gold answers; may be none.
        matching: how answers are found in texts.
        labels: of the store, made once for many questions; None: made for this one.
    """
    known = labels or NormalisedLabels(outcome.subgraph.store)
    gold = Answers.of(answers, matching)
    first = outcome.paths.verbalised.at(range(min(len(outcome.paths), max(CUTS))))
    subgraph = outcome.subgraph
    counts: dict[str, float | None] = {
        "answers": float(len(gold)),
        "unmatchable": float(gold.unmatchable),
        "paths": float(len(outcome.paths)),
        "subgraph_nodes": float(len(subgraph.nodes)),
        "subgraph_edges": float(len(subgraph.edges)),
        "wcc": float(subgraph.components),
    }
    return (
        answer_scores(outcome.answer, gold)
        | path_scores(known.texts(first), gold)
        | subgraph_scores(subgraph, gold, known)
        | counts
    )
