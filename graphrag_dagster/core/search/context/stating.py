"""The words that state a labelled edge."""

from collections.abc import Mapping

from graphrag_dagster.core.language.tasks import Quote
from graphrag_dagster.core.search.context.context_units import sentences_naming
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.local_rows import titles_of
from graphrag_dagster.core.text.spans import Span


def words_stating(index: IndexSnapshot, edge: Mapping[str, object], most: int) -> list[Quote]:
    """Return an edge's own words; where they are not known, sentences of its units that name both ends.

    Args:
        index: the tables of the corpus.
        edge: a row of ``graph.triples``.
        most: sentences.
    """
    unit, start, end = str(edge["evidence_unit_id"]), edge["start_char"], edge["end_char"]
    if isinstance(start, int) and isinstance(end, int) and unit in index.passages:
        return [Quote(unit, Span(start, end))]
    units = [str(one) for one in edge["text_unit_ids"]] if isinstance(edge["text_unit_ids"], list) else []
    titles = titles_of(index)
    ends = [titles.get(str(edge["head_id"]), ""), titles.get(str(edge["tail_id"]), "")]
    return list(sentences_naming(index, ends, units, most))
