"""The choice of statements by rules and by the packaged cross-encoder together."""

from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.engines.extractive.sentence_selection import RankedSentence, repeats_question
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.models.packaged_cross_encoder import PackagedCrossEncoder
from graphrag_dagster.kernel.retrieval.packaged_reranker import passage_scores, titled_passage
from graphrag_dagster.kernel.tasks.answering_ports import Sought

#: Text units whose sentences are scored, the first of the context, and most sentences of them.
_ROWS, _SENTENCES = 8, 40
#: Weight of the score of a sentence's text unit beside its own.
_OF_ROW = 0.3
#: What is added to the score of a sentence of a document that the question names.
_OF_FAVOURED = 2.0


def fuse_values(
    question: str, sentences: Sequence[RankedSentence], value: Scores, encoder: PackagedCrossEncoder
) -> Scores:
    """Return how well each sentence answers, by rules and by the cross-encoder [n].

    The first of the rules stays first; then the two orders take turns: the first and the second of the
    cross-encoder, the second of the rules, the third of the cross-encoder and so on. The values stay those of
    the rules, the highest for the first sentence of the joint order, so as many sentences answer as by rules,
    and none where none does.

    Args:
        question: as asked.
        sentences: of all rows, in their order.
        value: of each by rules, 0 for those that are not to be quoted.
        encoder: scores sentences of text units.

    Raises:
        EngineError: the cross-encoder cannot be used.
    """
    by_rules = [int(place) for place in np.argsort(-value, kind="stable") if value[place] > 0]
    if not by_rules:
        return value
    by_model = _order_by_model(question, sentences, value, encoder)
    turns = chain.from_iterable(zip_longest(by_model[1:], by_rules[1:]))
    joint = dict.fromkeys(place for place in (by_rules[0], *by_model[:1], *turns) if place is not None)
    first = list(joint)[: len(by_rules)]
    fused = np.zeros_like(value)
    fused[first] = value[by_rules]
    return fused


def _order_by_model(
    question: str, sentences: Sequence[RankedSentence], value: Scores, encoder: PackagedCrossEncoder
) -> list[int]:
    """Return the sentences that are scored, the best first."""
    rows = list({one.row.id: one.row for one in sentences if one.row.kind == "source"}.values())[:_ROWS]
    if not rows:
        return []
    row_scores = passage_scores(encoder, Sought(question), [(row.title, row.text) for row in rows])
    score_of_row = dict(zip((row.id for row in rows), row_scores.tolist(), strict=True))
    again = repeats_question(question, sentences)
    scored = np.array(
        [
            one.row.kind == "source" and one.row.id in score_of_row and one.quotable and not repeated
            for one, repeated in zip(sentences, again, strict=True)
        ]
    )
    places = _likeliest(scored, value)
    texts = [titled_passage(sentences[place].row.title, sentences[place].words) for place in places]
    scores = encoder.scores(question, texts)
    scores += _OF_ROW * np.array([score_of_row[sentences[place].row.id] for place in places])
    scores += _OF_FAVOURED * np.array([sentences[place].row.favoured for place in places])
    return [places[rank] for rank in np.argsort(-scores, kind="stable")]


def _likeliest(scored: NDArray[np.bool_], value: Scores) -> list[int]:
    """Return the places of the sentences to score: those that answer by rules first, then by their rows."""
    order = np.argsort(-value, kind="stable")
    return [int(place) for place in order if scored[place]][:_SENTENCES]
