"""Subgraphs as small as the wanted recall of a question allows (second paper B.5)."""

from collections.abc import Callable, Iterable, Sequence

from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.recall.question_classes import Classifier
from graphrag_dagster.core.paths.recall.windows import Row, window_for
from graphrag_dagster.core.paths.subgraphs.port import Extracted, SubgraphExtractor


class ConstrainedSubgraphs:
    """Subgraphs of the window that was chosen for the class of each question.

    Args:
        extractor: gives subgraphs of a size.
        rows: of ``paths.recall_windows``, with one for each class or for all.
        classifier: says of which class a question is.
    """

    def __init__(
        self, extractor: Callable[[int], SubgraphExtractor], rows: Sequence[Row], classifier: Classifier
    ) -> None:
        self._extractor, self._rows, self._classifier = extractor, rows, classifier
        self._sized = {row["chosen"]: extractor(row["chosen"]) for row in rows}

    def extract(self, query: PathQuery) -> Extracted:
        """Return the subgraph of a question; see the port."""
        return self._of(query).extract(query)

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out beforehand what several questions will need."""
        next(iter(self._sized.values())).prepare(queries)

    def _of(self, query: PathQuery) -> SubgraphExtractor:
        row = window_for(self._rows, self._classifier.of(query))
        return self._sized[row["chosen"] if row else self._rows[0]["chosen"]]
