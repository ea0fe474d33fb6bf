"""What words alone tell of answers and their context, without a model.

These are no estimates of relevancy, faithfulness, recall or precision and never bear their names.
"""

from collections.abc import Sequence

from graphrag_dagster.core.evaluation.claims.rouge import distance, tokens
from graphrag_dagster.core.evaluation.quality.quality_formulas import Score
from graphrag_dagster.core.evaluation.quality.quality_items import (
    QualityItem,
    QualityRow,
    row_of,
    want_of_answer,
    want_of_context,
    want_of_reference,
)
from graphrag_dagster.core.text.similarity import stems


def lexical_measures(items: Sequence[QualityItem]) -> list[QualityRow]:
    """Return two rows of family ``lexical`` for each item.

    ``rouge_l_to_reference`` is the ROUGE-L F1 of answer and reference answer, 2·LCS of their m + n words;
    ``reference_words_in_context`` the share of the reference's distinct meaningful word stems that stand in
    the context. None where there is nothing to compare.
    """
    return [
        row_of(item, "lexical", metric, score)
        for item in items
        for metric, score in (
            ("rouge_l_to_reference", _rouge_l(item)),
            ("reference_words_in_context", _words_in_context(item)),
        )
    ]


def _rouge_l(item: QualityItem) -> Score:
    if want := want_of_answer(item) or want_of_reference(item):
        return Score(None, reason=want)
    said, right = tokens(item.answer), tokens(item.reference or "")
    if not said or not right:
        which = "reference answer" if said else "answer"
        return Score(None, reason=f"the {which} has no words of Latin letters or digits")
    whole = len(said) + len(right)
    common = whole - round(distance(said, right) * whole)
    return Score(common / whole, float(common), float(whole))


def _words_in_context(item: QualityItem) -> Score:
    if want := want_of_reference(item) or want_of_context(item):
        return Score(None, reason=want)
    wanted = set(stems(item.reference or ""))
    if not wanted:
        return Score(None, reason="the reference answer has no words that carry meaning")
    found = wanted & {one for text in item.contexts for one in stems(text)}
    return Score(len(found) / len(wanted), float(len(found)), float(len(wanted)))
