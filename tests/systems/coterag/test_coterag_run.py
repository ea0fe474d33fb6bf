"""CoTeRAG-S is made with the index where it is switched on, and leaves nothing where it is not."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.pipeline.index_status import status_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.systems.coterag.search.coterag_snapshot import coterag_tables_of, snapshot_of
from support.commands import Run
from support.corpora import DOCUMENTS, write_corpus
from support.homes import copy_home

OWN = [table for table in all_tables() if table.group == "coterag"]


def of_coterag(corpus: str) -> dict[str, pl.DataFrame]:
    return {table.name: Warehouse().read(table, corpus) for table in OWN}


@pytest.fixture
def corpus(coterag_home: Path, home: Path) -> Path:
    """The folder of a corpus that has been indexed once."""
    copy_home(coterag_home, home)
    return home / "corpora" / "coast"


def write_another(corpus: Path) -> Path:
    """Write a corpus with the same documents and settings; gives its folder."""
    return write_corpus(corpus.parent, "strand", (corpus / "corpus.yaml").read_text())


def test_thresholds_of_the_paper_beside_another_embedder_are_warned_of(corpus: Path, run: Run) -> None:
    (corpus / "corpus.yaml").write_text("coterag: {profile: paper_raw}\n")
    ended, out, err = run("index", "coast")
    assert ended == 0, out + err
    assert "coterag.profile is paper_raw, whose thresholds were set for nomic-embed-text-v1.5" in err + out


def test_the_index_makes_it_and_switching_it_off_empties_it(corpus: Path) -> None:
    made = of_coterag("coast")
    entities = set(Warehouse().read(tables.ENTITIES, "coast")["entity_id"])
    assert set(made["stores"]["entity_id"]) == entities == set(made["descriptions"]["entity_id"])
    assert set(made["description_vectors"]["entity_id"]) == entities
    main = made["stores"].filter(store="main")
    assert main["component_size"].min() >= 5
    assert set(made["members"]["entity_id"]) == set(main["entity_id"])
    ids = set(made["communities"]["community_id"])
    assert ids == set(made["summaries"]["community_id"]) == set(made["summary_vectors"]["community_id"])
    assert set(made["terms"]["community_id"]) == ids
    assert made["summaries"]["engine"].unique().to_list() == ["extractive"]
    units = dict(Warehouse().read(tables.TEXT_CHUNKS, "coast").select("text_unit_id", "text").iter_rows())
    texts = dict(made["summaries"].select("community_id", "text").iter_rows())
    for community, unit, start, end in made["summary_quotes"].drop("position").iter_rows():
        assert " ".join(units[unit][start:end].split()) in texts[community]
    thresholds = dict(made["thresholds"].select("threshold", "value").iter_rows())
    assert thresholds["fallback"] > thresholds["entity"] >= thresholds["chunk"] >= thresholds["community"]
    assert set(made["thresholds"]["profile"]) == {"calibrated"}

    (corpus / "corpus.yaml").write_text("coterag: {profile: calibrated, enabled: false}\n")
    assert not CorpusStore().settings("coast").makes("coterag")
    assert "coterag" in status_of("coast").redo
    run_job("coast")
    assert all(frame.is_empty() for frame in of_coterag("coast").values())


def test_the_same_corpus_gives_the_same_rows(corpus: Path) -> None:
    write_another(corpus)
    run_job("strand")
    one, other = of_coterag("coast"), of_coterag("strand")
    assert all(one[name].equals(other[name]) for name in one)


@pytest.mark.long
def test_a_deleted_document_leaves_no_trace(corpus: Path) -> None:
    gone = next(iter(DOCUMENTS))
    (corpus / gone).unlink()
    run_job("coast")
    (write_another(corpus) / gone).unlink()
    run_job("strand")
    left, fresh = of_coterag("coast"), of_coterag("strand")
    assert all(left[name].equals(fresh[name]) for name in left)


def test_thresholds_of_another_version_are_refused(corpus: Path) -> None:
    index = Index.open("coast").searcher.index
    stored = coterag_tables_of(index)
    assert stored
    older = replace(stored, thresholds=stored.thresholds.filter(pl.col("threshold") != "covered"))
    names = {
        "entities": tables.ENTITIES,
        "documents": tables.DOCUMENTS,
        "text_chunks": tables.TEXT_CHUNKS,
        "unit_vectors": tables.TEXT_UNIT_EMBEDDINGS,
    }
    rows = {name: Warehouse().read(table, "coast") for name, table in names.items()}
    assert snapshot_of(stored, **rows).thresholds.covered == 0
    with pytest.raises(GraphragError, match="lacks covered: another version made it; index the corpus again"):
        snapshot_of(older, **rows)


def test_settings_of_answers_make_nothing_anew(corpus: Path) -> None:
    (corpus / "corpus.yaml").write_text("coterag: {profile: calibrated, chunks: 9, fallback: {rounds: 1}}\n")
    assert "coterag" not in status_of("coast").redo
    (corpus / "corpus.yaml").write_text("coterag: {profile: paper_raw}\n")
    assert "coterag" in status_of("coast").redo


def test_levels_of_the_ordinary_graph_may_be_matched(home: Path) -> None:
    write_corpus(home / "corpora", settings="coterag: {match: C0, tail_template: isolated}\n")
    run_job("coast")
    made = of_coterag("coast")
    levels = Warehouse().read(tables.COMMUNITY_LEVELS, "coast").filter(level=0)
    assert set(made["communities"]["community_id"]) <= set(levels["community_id"])
    assert len(made["communities"])
