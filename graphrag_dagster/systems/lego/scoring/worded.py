"""Relations read as words: ``directed_by`` as “directed by”, ``people.person.birthPlace`` likewise."""

import re
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.verbalised import Verbalised, Vocabulary
from graphrag_dagster.systems.lego.scoring.port import PathScorer

if TYPE_CHECKING:
    from collections.abc import Sequence

_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class WordedScorer:
    """Scores texts as another scorer does, once their relations are written as words.

    Args:
        scorer: that scores.
    """

    def __init__(self, scorer: PathScorer) -> None:
        self._scorer = scorer
        self._known: tuple[Sequence[str], Sequence[str]] = ((), ())

    @property
    def name(self) -> str:
        """That of the other, and that relations are words."""
        return f"{self._scorer.name}, relations as words"

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return one score per candidate [n]; see the port."""
        return self._scorer.scores(question, self._worded(candidates))

    def tokens(self, candidates: Verbalised) -> int:
        """Return the tokens of all candidates."""
        return self._scorer.tokens(self._worded(candidates))

    def _worded(self, candidates: Verbalised) -> Verbalised:
        vocabulary = candidates.vocabulary
        relations, words = self._known
        if vocabulary.relations is not relations:
            words = list(map(in_words, vocabulary.relations))
            self._known = (vocabulary.relations, words)
        return Verbalised(Vocabulary(vocabulary.labels, words), candidates.rows)


def in_words(relation: str) -> str:
    """Return a relation as words; as it is where it has none.

    >>> in_words("directed_by"), in_words("film.film.releaseYear"), in_words("->")
    ('directed by', 'film film release Year', '->')
    """
    return " ".join(_BETWEEN.sub(" ", relation).split()) or relation
