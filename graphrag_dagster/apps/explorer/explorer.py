"""All that a person sees of a published corpus, by one name.

>>> from graphrag_dagster import Index
>>> Index.explorer("coast").overview().counts.entities
15
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

import duckdb

from graphrag_dagster.apps.explorer import community_page, document_text, table_pages
from graphrag_dagster.apps.explorer import corpus_overview as overview
from graphrag_dagster.apps.explorer import document_page as consequences
from graphrag_dagster.apps.explorer import document_page as documents
from graphrag_dagster.apps.explorer import entity_page as entities
from graphrag_dagster.apps.explorer import graph_drawing as drawing
from graphrag_dagster.apps.explorer import open_snapshots as snapshots
from graphrag_dagster.apps.explorer import snapshot_changes as changes
from graphrag_dagster.apps.explorer import text_search as finding
from graphrag_dagster.apps.explorer.community_map import CommunityCells, Measure, community_cells
from graphrag_dagster.apps.explorer.entity_page import Mentions
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot, SnapshotCache, open_snapshot
from graphrag_dagster.apps.explorer.snapshot_changes import recorded_changes
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.errors import DamagedError, MissingError, QuestionError, SettingsError
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.kernel.lineage.row_lineage import why as why_of
from graphrag_dagster.kernel.pipeline.result_display import Url
from graphrag_dagster.kernel.questions.corpus_index import settings_for_questions
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.home import explorer_url
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_T = TypeVar("_T")
_P = ParamSpec("_P")


class Explorer:
    """The current snapshot of a corpus, looked for anew by every call; several threads may ask at once.

    Every method raises a WarehouseError where nothing of the corpus has been published, and a MissingError
    for an id that is not there.

    Args:
        corpus: its name.
        warehouse: where its tables lie; default: as the environment says.
        corpora: where corpora lie; default: as the environment says.
        cache: keeps snapshots open between calls; default: every call opens its own.

    Raises:
        CorpusError: there is no such corpus.
    """

    def __init__(
        self,
        corpus: str,
        warehouse: Warehouse | None = None,
        corpora: CorpusStore | None = None,
        cache: SnapshotCache | None = None,
    ) -> None:
        self.corpus = corpus
        self._warehouse = warehouse or Warehouse()
        self._corpora = corpora or CorpusStore()
        # Broken ones are told in the overview.
        with suppress(SettingsError):
            settings_for_questions(corpus, self._corpora, self._warehouse)
        self._opened = cache.open if cache else open_snapshot

    def overview(self) -> overview.Overview:
        """Return what the corpus holds and how it can be asked."""
        return self._read(overview.overview, self._corpora, self._warehouse)

    def communities(
        self, within: str | None = None, level: int | None = None, measure: Measure = "members"
    ) -> CommunityCells:
        """Return the children of a community, or what of a level lies in it; see :func:`.community_cells`."""
        return self._read(community_cells, within, level, measure)

    def community(self, community_id: str) -> community_page.CommunityPage:
        """Return a community with its report."""
        return self._read(community_page.community_page, community_id)

    def members(self, community_id: str, offset: int = 0, limit: int = 100) -> community_page.Members:
        """Return members of a community, those of the highest degree first."""
        return self._read(community_page.community_members, community_id, offset, limit)

    def drawn(
        self, level: int | None = None, within: str | None = None, most: int = drawing.MOST_NODES
    ) -> drawing.Drawn:
        """Return what is drawn of the graph; see :func:`.draw_graph`."""
        return self._read(drawing.draw_graph, level, within, most)

    def entity(self, entity_id: str) -> entities.EntityPage:
        """Return an entity with what is around it."""
        return self._read(entities.entity_page, entity_id)

    def mentions(self, entity_id: str, offset: int = 0, limit: int = 50) -> Mentions:
        """Return where an entity is named, in the order of the corpus."""
        return self._read(entities.entity_mentions, entity_id, offset, limit)

    def neighbours(self, entity_id: str, offset: int = 0, limit: int = 100) -> entities.Neighbours:
        """Return entities that are related to one, the heaviest relationships first."""
        return self._read(entities.entity_neighbours, entity_id, offset, limit)

    def why(self, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
        """Return the way from a row to the words it rests on; see ``row_lineage.why``."""
        try:
            return self._read(lambda shown: why_of(shown.lineage, kind, asked, most))
        except QuestionError as error:
            raise MissingError(kind, str(error)) from error

    def document(self, document_id: str) -> documents.DocumentPage:
        """Return a document with its text units and entities."""
        return self._read(documents.document_page, document_id)

    def units(self, document_id: str, offset: int = 0, limit: int = 500) -> documents.Units:
        """Return text units of a document, in its order."""
        return self._read(documents.document_units, document_id, offset, limit)

    def text(
        self, document_id: str, start: int | None = None, end: int | None = None, cited: str | None = None
    ) -> document_text.DocumentText:
        """Return a stretch of a document's text; see :func:`.document_text.document_text`."""
        return self._read(document_text.document_text, document_id, start, end, cited)

    def impact(self, document_id: str) -> consequences.DocumentImpact:
        """Return what would be different without a document."""
        return self._read(consequences.document_impact, document_id)

    def tables(self) -> list[table_pages.TableView]:
        """Return the tables that can be looked through."""
        return self._read(table_pages.table_views)

    def table(
        self, name: str, order: Order | None = None, offset: int = 0, limit: int = 100
    ) -> table_pages.TablePage:
        """Return rows of a table."""
        return self._read(table_pages.table_page, name, order or Order(), offset, limit)

    def csv(self, name: str, order: Order | None = None) -> Iterator[str]:
        """Return rows of a table as CSV, in pieces; errors are raised before the first is asked for."""
        chosen = order or Order()
        table_pages.check_order(name, chosen)

        def pieces() -> Iterator[str]:
            with self._opened(self._warehouse, self.corpus) as shown:
                yield from table_pages.table_csv(shown, name, chosen)

        made = pieces()
        first = next(made)
        return chain([first], made)

    def find(self, query: str, limit: int = 20) -> finding.Found:
        """Return what has all words of a query: names, reports, documents, passages."""
        return self._read(finding.find, query, limit)

    def snapshots(self) -> list[snapshots.Snapshot]:
        """Return the snapshots that are kept, the one published last first; perhaps none."""
        return snapshots.list_snapshots(self._warehouse, self.corpus)

    def changes(self, before: str | None = None, after: str | None = None) -> changes.Changes:
        """Return what differs between two snapshots, by version; default: the current one and the one before.

        Raises:
            MissingError: there is no such snapshot, or none before.
        """
        try:
            return changes.changes(self._warehouse, self.corpus, before, after)
        except MissingError:
            noted = recorded_changes(self._warehouse, self.corpus, before, after)
            if noted is None:
                raise
            return noted

    def _read(
        self, read: Callable[Concatenate[OpenSnapshot, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        try:
            with self._opened(self._warehouse, self.corpus) as shown:
                return read(shown, *args, **kwargs)
        except (DamagedError, duckdb.IOException):
            # It vanished while it was read: what has taken its place is whole.
            with self._opened(self._warehouse, self.corpus) as shown:
                return read(shown, *args, **kwargs)


def shown(corpus: str, _warehouse: Warehouse, _corpora: CorpusStore) -> dict[str, Any]:
    """Return a link to the explorer."""
    return {"explorer": Url(f"{explorer_url()}/#/{quote(corpus, safe='')}")}
