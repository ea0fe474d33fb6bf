"""How near what is said is to the words it rests on."""

from collections.abc import Sequence

from graphrag_dagster.core.ranks import cosines
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.similarity import stems, words

#: Least similarity from which words support a statement.
SUPPORTS = 0.2


class Support:
    """Compares statements with quotations: the mean of shared words and of cosine.

    Shared words are the share of the statement's meaningful word stems that the quotation has. The same words
    give 1, whatever the blanks and marks between them.

    Args:
        embedder: makes the vectors; None compares words alone.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def similarities(self, statement: str, quotations: Sequence[str]) -> list[float]:
        """Return the similarity, 0–1, of a statement to each quotation."""
        if not quotations:
            return []
        said, wanted = words(statement), set(stems(statement))
        shared = [len(wanted & set(stems(one))) / len(wanted) if wanted else 0.0 for one in quotations]
        near = self._cosines(statement, quotations)
        return [
            1.0 if _inside(said, words(one)) else round(min((share + cosine) / 2, 0.999), 3)
            for one, share, cosine in zip(quotations, shared, near or shared, strict=True)
        ]

    def _cosines(self, statement: str, quotations: Sequence[str]) -> list[float]:
        if self._embedder is None:
            return []
        vectors = self._embedder.embed([statement, *quotations])
        return [max(float(cosine), 0.0) for cosine in cosines(vectors[1:], vectors[0])]


def _inside(said: Sequence[str], quoted: Sequence[str]) -> bool:
    """Whether all that is said stands in the quotation, word after word."""
    return bool(said) and f" {' '.join(said)} " in f" {' '.join(quoted)} "
