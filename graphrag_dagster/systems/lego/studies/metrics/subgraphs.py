"""How good a subgraph is (spec_lego §9)."""

from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.studies.metrics.answers import Answers, NormalisedLabels, harmonic

SUBGRAPH_MEASURES = ("subgraph_recall", "subgraph_f1")


def subgraph_scores(subgraph: Subgraph, gold: Answers, labels: NormalisedLabels) -> dict[str, float | None]:
    """Return recall and F1 of the answers among the labels of its nodes; None without gold.

    Precision, which F1 is made of, is the share of the nodes that are answers: the paper has recall .96
    beside F1 .004.
    """
    if not len(gold):
        return dict.fromkeys(SUBGRAPH_MEASURES)
    there = set(subgraph.store.label_of[subgraph.nodes].tolist())
    found = sum(not there.isdisjoint(labels.labels(answer)) for answer in gold.texts)
    recall = found / len(gold)
    precision = found / len(subgraph.nodes) if len(subgraph.nodes) else 0.0
    return {"subgraph_recall": recall, "subgraph_f1": harmonic(precision, recall)}
