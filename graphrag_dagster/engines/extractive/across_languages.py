"""Sentences that answer a question in another language than theirs, by a multilingual embedder."""

from collections.abc import Sequence

import numpy as np

from graphrag_dagster.engines.extractive.sentence_selection import RankedSentence
from graphrag_dagster.kernel.common.stable_values import Scores, cosines, round_for_comparison
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.text.languages import language_of, main_language
from graphrag_dagster.kernel.text.quotable_sentences import is_whole

#: Sentences that are compared, those of the text units found first; each takes hundredths of a second.
_MOST = 100
#: Least cosine of multilingual-e5-small at which a sentence may have to do with a question of another
#: language. It leaves out what is plainly about something else, not what is only near.
_LEAST = 0.75
#: Factor of lines that are no whole sentences.
_CUT = 0.5
#: How fast the value falls with the cosine: to .6, at which no other sentence is quoted, within .02.
_SHARPNESS = 25


def is_in_another_language(question: str, sentences: Sequence[RankedSentence]) -> bool:
    """Return whether a question is surely in another language than most sentences."""
    asked = language_of(question)
    return asked is not None and asked != main_language([one.text for one in sentences])


def values_across_languages(
    question: str, sentences: Sequence[RankedSentence], embedder: CorpusEmbedder
) -> Scores:
    """Return how near each sentence is in meaning to a question of another language; 0 for most.

    Args:
        question: as asked.
        sentences: those of what was found first come first.
        embedder: one for many languages.
    """
    value = np.zeros(len(sentences))
    places = [place for place, one in enumerate(sentences) if one.quotable][:_MOST]
    if not places:
        return value
    (asked,) = embedder.embed_queries([question])
    cosine = cosines(embedder.embed([sentences[place].text for place in places]), asked)
    # A heading has more in common with a question than the sentences below it, and answers less.
    whole = np.array([is_whole(sentences[place].text) for place in places])
    near = np.exp(_SHARPNESS * (cosine - cosine.max())) * np.where(whole, 1.0, _CUT)
    value[places] = np.where(cosine >= _LEAST, near, 0.0)
    return round_for_comparison(value)
