"""Read-only routes below ``/corpora/{corpus}`` for the explorer page."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from graphrag_dagster.apps.explorer.community_map import CommunityCells, Measure
from graphrag_dagster.apps.explorer.community_page import CommunityPage, Members
from graphrag_dagster.apps.explorer.corpus_overview import Overview
from graphrag_dagster.apps.explorer.document_page import DocumentImpact, DocumentPage, Units
from graphrag_dagster.apps.explorer.document_text import DocumentText
from graphrag_dagster.apps.explorer.entity_page import EntityPage, Mentions, Neighbours
from graphrag_dagster.apps.explorer.graph_drawing import MOST_NODES, Drawn
from graphrag_dagster.apps.explorer.open_snapshots import Snapshot
from graphrag_dagster.apps.explorer.snapshot_changes import Changes
from graphrag_dagster.apps.explorer.table_pages import Order, TablePage, TableView
from graphrag_dagster.apps.explorer.text_search import Found
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.corpora_routes import Corpus
from graphrag_dagster.service.error_responses import documented_errors, without_paths

_LARGEST = 2**31 - 1
Id = Annotated[str, Path(description="its id", max_length=200)]
CommunityId = Annotated[str | None, Query(description="id of a community", max_length=200)]
Level = Annotated[int | None, Query(description="the number k of the level Ck", ge=-100, le=100)]
Offset = Annotated[int, Query(description="how many to skip", ge=0, le=_LARGEST)]
Limit = Annotated[int, Query(description="most of them", ge=1, le=1_000)]
Character = Annotated[int | None, Query(description="character of the document's text", ge=0, le=_LARGEST)]
Sort = Annotated[
    str | None, Query(description="column to sort by; default: the order of the table", max_length=200)
]
Descending = Annotated[bool, Query(description="descending order")]
Words = Annotated[
    str, Query(alias="filter", description="words that must all occur in a row's texts", max_length=4_000)
]
Version = Annotated[str | None, Query(description="version of a snapshot", max_length=200)]
Cited = Annotated[
    str | None,
    Query(description="character ranges to highlight, such as 120-180,300-320", max_length=2_000),
]
_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "All rows."}
}


def explorer_router(backend: Backend) -> APIRouter:
    """Return the routes of what a person sees of a corpus."""
    router = APIRouter(prefix="/corpora/{corpus}", tags=["explorer"])
    _add_map(router, backend)
    _add_entities(router, backend)
    _add_documents(router, backend)
    _add_tables(router, backend)
    _add_snapshots(router, backend)
    return router


def _add_map(router: APIRouter, backend: Backend) -> None:
    @router.get("/overview", responses=documented_errors(404, 409))
    async def overview(corpus: Corpus) -> Overview:
        """See what a corpus holds and how it can be asked."""
        seen = await backend.explore(corpus, lambda seen: seen.overview())
        # A note on settings that cannot be used names their file, and so may a reader that fails.
        return replace(
            seen,
            notes=[without_paths(note) for note in seen.notes],
            unread=[replace(one, reason=without_paths(one.reason)) for one in seen.unread],
        )

    @router.get("/communities", responses=documented_errors(400, 404, 409))
    async def communities(
        corpus: Corpus, within: CommunityId = None, level: Level = None, measure: Measure = "members"
    ) -> CommunityCells:
        """See the communities of a corpus, or inside one, as cells of a map."""
        return await backend.explore(corpus, lambda seen: seen.communities(within, level, measure))

    @router.get("/communities/{community_id}", responses=documented_errors(404, 409))
    async def community(corpus: Corpus, community_id: Id) -> CommunityPage:
        """See a community with its report."""
        return await backend.explore(corpus, lambda seen: seen.community(community_id))

    @router.get("/communities/{community_id}/members", responses=documented_errors(404, 409))
    async def members(corpus: Corpus, community_id: Id, offset: Offset = 0, limit: Limit = 100) -> Members:
        """See members of a community, those of the highest degree first."""
        return await backend.explore(corpus, lambda seen: seen.members(community_id, offset, limit))

    @router.get("/drawn", responses=documented_errors(400, 404, 409))
    async def drawn(
        corpus: Corpus,
        level: Level = None,
        within: CommunityId = None,
        most: Annotated[int, Query(description="most nodes", ge=10, le=MOST_NODES)] = MOST_NODES,
    ) -> Drawn:
        """See the graph of a corpus, or of a community, drawn."""
        return await backend.explore(corpus, lambda seen: seen.drawn(level, within, most))


def _add_entities(router: APIRouter, backend: Backend) -> None:
    @router.get("/entities/{entity_id}", responses=documented_errors(404, 409))
    async def entity(corpus: Corpus, entity_id: Id) -> EntityPage:
        """See an entity with what is around it."""
        return await backend.explore(corpus, lambda seen: seen.entity(entity_id))

    @router.get("/entities/{entity_id}/mentions", responses=documented_errors(404, 409))
    async def mentions(corpus: Corpus, entity_id: Id, offset: Offset = 0, limit: Limit = 50) -> Mentions:
        """See where an entity is named, each place in its sentence."""
        return await backend.explore(corpus, lambda seen: seen.mentions(entity_id, offset, limit))

    @router.get("/entities/{entity_id}/neighbours", responses=documented_errors(404, 409))
    async def neighbours(corpus: Corpus, entity_id: Id, offset: Offset = 0, limit: Limit = 100) -> Neighbours:
        """See entities that are related to one, the heaviest relationships first."""
        return await backend.explore(corpus, lambda seen: seen.neighbours(entity_id, offset, limit))

    @router.get("/why/{kind}/{asked}", responses=documented_errors(404, 409))
    async def why(
        corpus: Corpus,
        kind: WhyKind,
        asked: Annotated[str, Path(description="its id, number or name", max_length=4_000)],
        most: Annotated[
            int, Query(description="maximum number of rows of each kind below a row", ge=1, le=100)
        ] = 5,
    ) -> LineageStep:
        """See what a row rests on, down to the words of documents."""
        return await backend.explore(corpus, lambda seen: seen.why(kind, asked, most))

    @router.get("/find", responses=documented_errors(400, 404, 409))
    async def find(
        corpus: Corpus,
        query: Annotated[str, Query(description="words", min_length=1, max_length=4_000)],
        limit: Annotated[int, Query(description="maximum number of each kind", ge=1, le=100)] = 20,
    ) -> Found:
        """Find what has all words: names, reports, documents, passages."""
        return await backend.explore(corpus, lambda seen: seen.find(query, limit))


def _add_documents(router: APIRouter, backend: Backend) -> None:
    @router.get("/documents/{document_id}", responses=documented_errors(404, 409))
    async def document(corpus: Corpus, document_id: Id) -> DocumentPage:
        """See a document with its text units and entities."""
        return await backend.explore(corpus, lambda seen: seen.document(document_id))

    @router.get("/documents/{document_id}/units", responses=documented_errors(404, 409))
    async def units(corpus: Corpus, document_id: Id, offset: Offset = 0, limit: Limit = 500) -> Units:
        """See text units of a document, in its order."""
        return await backend.explore(corpus, lambda seen: seen.units(document_id, offset, limit))

    @router.get("/documents/{document_id}/text", responses=documented_errors(400, 404, 409))
    async def text(
        corpus: Corpus,
        document_id: Id,
        start: Character = None,
        end: Character = None,
        cited: Cited = None,
    ) -> DocumentText:
        """See a stretch of a document's text, cut where something is named, claimed or cited."""
        return await backend.explore(corpus, lambda seen: seen.text(document_id, start, end, cited))

    @router.get("/documents/{document_id}/impact", responses=documented_errors(404, 409))
    async def impact(corpus: Corpus, document_id: Id) -> DocumentImpact:
        """See what would be different without a document."""
        return await backend.explore(corpus, lambda seen: seen.impact(document_id))


def _add_tables(router: APIRouter, backend: Backend) -> None:
    @router.get("/tables", responses=documented_errors(404, 409))
    async def tables(corpus: Corpus) -> list[TableView]:
        """See which tables can be looked through."""
        return await backend.explore(corpus, lambda seen: seen.tables())

    @router.get("/tables/{name}", responses=documented_errors(400, 404, 409))
    async def table(
        corpus: Corpus,
        name: Id,
        sort: Sort = None,
        descending: Descending = False,
        words: Words = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> TablePage:
        """See rows of a table, sorted and filtered."""
        order = Order(sort, descending, words)
        return await backend.explore(corpus, lambda seen: seen.table(name, order, offset, limit))

    @router.get(
        "/tables/{name}/csv",
        response_class=StreamingResponse,
        responses={**_CSV, **documented_errors(400, 404, 409)},
    )
    async def table_csv(
        corpus: Corpus, name: Id, sort: Sort = None, descending: Descending = False, words: Words = ""
    ) -> StreamingResponse:
        """Get all rows of a table, sorted and filtered, as CSV."""
        order = Order(sort, descending, words)
        pieces = await backend.explore(corpus, lambda seen: seen.csv(name, order))
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return StreamingResponse(pieces, media_type="text/csv", headers=headers)


def _add_snapshots(router: APIRouter, backend: Backend) -> None:
    @router.get("/snapshots", responses=documented_errors(404, 409))
    async def snapshots(corpus: Corpus) -> list[Snapshot]:
        """See the snapshots that are kept, the one published last first."""
        return await backend.explore(corpus, lambda seen: seen.snapshots())

    @router.get("/changes", responses=documented_errors(404, 409))
    async def changes(corpus: Corpus, before: Version = None, after: Version = None) -> Changes:
        """See what differs between two snapshots; default: the current one, and the one before."""
        return await backend.explore(corpus, lambda seen: seen.changes(before, after))
