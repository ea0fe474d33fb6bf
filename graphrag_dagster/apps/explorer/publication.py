"""The explorer at the publication of a snapshot: the map it begins with, and what changed."""

from typing import Any
from urllib.parse import quote

from graphrag_dagster.kernel.pipeline.display import Url, treemap
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.home import explorer_url
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def shown(corpus: str, warehouse: Warehouse, corpora: CorpusStore) -> dict[str, Any]:
    """Return a link to the explorer, and the map it begins with."""
    # All that the explorer shows hangs on it; no step before this one needs any of it.
    from graphrag_dagster.apps.explorer.explorer import Explorer

    cells = Explorer(corpus, warehouse, corpora).communities().cells
    return {
        "explorer": Url(f"{explorer_url()}/#/{quote(corpus, safe='')}"),
        "map": treemap([(one.title, one.size, one.rating) for one in cells], "Communities of C0"),
    }
