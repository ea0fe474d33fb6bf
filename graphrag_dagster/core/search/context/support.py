"""How near what is said is to the words it rests on, and whether they support it."""

from collections.abc import Sequence

from graphrag_dagster.core.language.supporting import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.core.language.tasks import Usage
from graphrag_dagster.core.ranks import cosines
from graphrag_dagster.core.search.support.by_words import JudgeByWords
from graphrag_dagster.core.search.support.reading import stands_in
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.similarity import stems

_SUPPORTED = SupportOf("supported", 1.0)
_WORDLESS = SupportOf("not", 0.0, "no words of the documents were found for what it cites")


class Support:
    """Compares statements with quotations, and has it judged whether these support them.

    Args:
        embedder: makes the vectors; None compares words alone.
        judge: says what supports what; default: by words.
    """

    def __init__(self, embedder: Embedder | None = None, judge: SupportJudge | None = None) -> None:
        self._embedder = embedder
        self._judge = judge or JudgeByWords(embedder)

    def by(self, judge: SupportJudge) -> "Support":
        """Return the same with another judge."""
        return Support(self._embedder, judge)

    def similarities(self, statement: str, quotations: Sequence[str]) -> list[float]:
        """Return the similarity, 0–1, of a statement to each quotation.

        It is the mean of cosine and of shared words, the share of the statement's meaningful word stems that
        the quotation has. The same words give 1, whatever the blanks and marks between them.
        """
        if not quotations:
            return []
        wanted = set(stems(statement))
        shared = [len(wanted & set(stems(one))) / len(wanted) if wanted else 0.0 for one in quotations]
        near = self._cosines(statement, quotations)
        return [
            1.0 if stands_in(statement, one) else round(min((share + cosine) / 2, 0.999), 3)
            for one, share, cosine in zip(quotations, shared, near or shared, strict=True)
        ]

    def judged(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement.

        What stands in the words, word after word, is supported, and what cites none is not; nobody is asked
        about these.
        """
        found = [_without_judge(one) for one in statements]
        open_ = [one for one, known in zip(statements, found, strict=True) if known is None]
        made = self._judge.judge(open_) if open_ else Judged((), Usage())
        rest = iter(made.items)
        return Judged(tuple(known or next(rest) for known in found), made.usage)

    def _cosines(self, statement: str, quotations: Sequence[str]) -> list[float]:
        if self._embedder is None:
            return []
        vectors = self._embedder.embed([statement, *quotations])
        return [max(float(cosine), 0.0) for cosine in cosines(vectors[1:], vectors[0])]


def _without_judge(cited: Cited) -> SupportOf | None:
    if not cited.words:
        return _WORDLESS
    return _SUPPORTED if any(stands_in(cited.statement, one) for one in cited.words) else None
