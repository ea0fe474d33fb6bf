"""The graph of a corpus of documents is the same when its export is taken in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.import_proposal import propose
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.circles import taken_in
from support.homes import enter_home, shared_home
from support.shared import REPOSITORY

FORMS = ("microsoft", "graphml", "rdf", "neo4j", "triples")
#: Columns by which entities, and statements of them, are compared.
ABOUT, STATED = ["title", "type", "description"], ["head", "relation", "tail", "weight"]


def read(table: Table, name: str) -> pl.DataFrame:
    return Warehouse().read(table, name)


def titled(frame: pl.DataFrame, name: str, *ends: str) -> pl.DataFrame:
    """Names of entities by their titles."""
    titles = read(tables.ENTITIES, name)
    return frame.with_columns(pl.col(end).replace(titles["name"], titles["title"]) for end in ends)


def stated(name: str) -> pl.DataFrame:
    triples = titled(read(tables.TRIPLES, name), name, "head", "tail").rename({"strength": "weight"})
    return triples.select(STATED).sort(STATED)


@pytest.mark.parametrize("to", FORMS)
def test_entities_and_what_is_stated_of_them_come_back(to: str, coast: Path, home: Path) -> None:
    taken_in(export("coast", to, home / to).folder, to)
    entities, relations = read(IMPORTED_ENTITIES, to), read(IMPORTED_RELATIONS, to)
    before = read(tables.ENTITIES, "coast").select(ABOUT).sort(ABOUT)
    if to == "rdf":
        # All that an index has are things there, whose values are literals.
        entities = entities.filter(pl.col("key").str.contains(":entity:"))
        relations = relations.filter(pl.col("attributes").str.contains(":relation:"))
        ends = [pl.col(end).replace(entities["name"], entities["title"]) for end in ("head", "tail")]
        after = relations.with_columns(ends).select(STATED[:-1]).sort(STATED[:-1])
        assert sorted(entities["title"]) == before["title"].to_list()
        assert_frame_equal(after, stated("coast").select(STATED[:-1]))
        return
    assert_frame_equal(entities.select(ABOUT).sort(ABOUT), before)
    ends = [pl.col(end).replace(entities["name"], entities["title"]) for end in ("head", "tail")]
    after = relations.with_columns(ends)
    if to == "microsoft":
        # Its relationships are undirected and without labels.
        pairs = ["head", "tail", "weight", "description"]
        edges = titled(read(tables.RELATIONSHIPS, "coast"), "coast", "source", "target")
        wanted = edges.rename({"source": "head", "target": "tail"}).select(pairs).sort(pairs)
        assert_frame_equal(after.select(pairs).sort(pairs), wanted)
        return
    assert_frame_equal(after.select(STATED).sort(STATED), stated("coast"))


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the sample corpus, and each export of it as a corpus of its own."""

    def fill(folder: Path) -> None:
        (folder / "corpora" / "harbour.path").write_text(
            str(REPOSITORY / "graphrag_dagster" / "sample" / "harbour")
        )
        run_job("harbour")
        for to in FORMS:
            propose(CorpusStore(), export("harbour", to, folder / "exports" / to).folder, to)
            run_job(to)

    home = shared_home(tmp_path_factory, "circles of harbour", fill)
    with pytest.MonkeyPatch.context() as patch:
        yield enter_home(patch, home)


@pytest.mark.long
@pytest.mark.usefixtures("harbour")
@pytest.mark.parametrize("to", [form for form in FORMS if form not in ("microsoft", "rdf")])
def test_the_graph_of_the_sample_corpus_is_the_same(to: str) -> None:
    entities = [read(tables.ENTITIES, name).select(ABOUT).sort(ABOUT) for name in (to, "harbour")]
    assert_frame_equal(*entities)
    assert_frame_equal(stated(to), stated("harbour"))
    pairs = ["source", "target"]
    edges = [
        titled(read(tables.RELATIONSHIPS, name), name, *pairs).select(pairs).sort(pairs)
        for name in (to, "harbour")
    ]
    assert_frame_equal(*edges)


@pytest.mark.long
@pytest.mark.usefixtures("harbour")
def test_a_project_of_microsoft_graphrag_has_the_communities_too() -> None:
    compared: dict[Table, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
        tables.ENTITIES: lambda frame, _: frame.select(ABOUT),
        tables.RELATIONSHIPS: lambda frame, name: titled(frame, name, "source", "target").select(
            "source", "target", "weight", "description"
        ),
        tables.TEXT_CHUNKS: lambda frame, _: frame.select("text", "tokens"),
        tables.COMMUNITIES: lambda frame, _: frame.select("level", "size", "is_leaf"),
        tables.COMMUNITY_REPORTS: lambda frame, _: frame.select("level", "title", "content", "rating"),
    }
    for table, told in compared.items():
        after, before = (told(read(table, name), name) for name in ("microsoft", "harbour"))
        assert before.height > 0
        assert_frame_equal(after, before, check_row_order=False)
