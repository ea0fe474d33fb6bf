import threading
from pathlib import Path

import duckdb
import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import QuestionError, WarehouseError
from graphrag_dagster.kernel.storage.published import publish, published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.corpora import write_corpus


@pytest.fixture
def warehouse(coast: Path) -> Warehouse:
    (coast / "corpus.yaml").write_text("publishing: {keep: 1}\n", encoding="utf-8")
    return Warehouse()


def test_asking_waits_for_no_writer(warehouse: Warehouse) -> None:
    with duckdb.connect(str(warehouse.file("coast"))) as writer:
        writer.execute("begin")
        writer.execute("delete from graph.entities")
        answer = Index.open("coast").ask("Who led the Dockers Union?")
        writer.execute("rollback")
    assert answer.sources


def test_a_newer_index_takes_the_place_of_the_older_which_is_deleted(
    warehouse: Warehouse, home: Path
) -> None:
    before = published(warehouse, "coast")
    assert before is not None
    assert not publish(warehouse, "coast")[1]
    opened = Index.open("coast")
    (home / "corpora" / "coast" / "news" / "strike.md").unlink()
    run_job("coast")
    after = published(warehouse, "coast")
    assert after is not None
    assert after.version != before.version
    assert not before.file.exists()
    assert b"Hanna Quill" not in after.file.read_bytes()
    assert opened.ask("Who led the Dockers Union?").sources
    assert Index.open("coast").ask("Who led the Dockers Union?", method="local").text.count("Quill") == 0


def test_readers_open_while_others_publish(warehouse: Warehouse, home: Path) -> None:
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                assert Index.open("coast").searcher.index.documents.height >= 4
            except BaseException as error:
                problems.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(5):
        documents = warehouse.read(tables.DOCUMENTS, "coast")
        row = documents[0].with_columns(document_id=documents["document_id"][:1] + f"-{number}")
        warehouse.write(tables.DOCUMENTS, "coast", documents.extend(row))
        publish(warehouse, "coast")
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []


def test_a_damaged_pointer_names_the_mend(warehouse: Warehouse) -> None:
    made = published(warehouse, "coast")
    assert made is not None
    (made.file.parent / "current.json").write_text("{", encoding="utf-8")
    with pytest.raises(WarehouseError, match=r"damaged; delete it and run"):
        Index.open("coast")


@pytest.mark.usefixtures("coast")
def test_without_reports_local_and_basic_work_and_global_says_what_is_missing() -> None:
    whole = Warehouse()
    with duckdb.connect(str(whole.file("coast"))) as connection:
        for table in ("community_reports", "report_findings", "report_references", "report_contexts"):
            connection.execute(f"drop table reports.{table}")
    publish(whole, "coast")
    index = Index.open("coast")
    for method in ("local", "basic", "SS", "TS", "auto"):
        assert index.ask("Who led the Dockers Union?", method=method).sources
    with pytest.raises(QuestionError, match="no community reports"):
        index.ask("Who led the Dockers Union?", method="global")


@pytest.mark.long
def test_documents_larger_than_the_context_are_cut_for_every_way(home: Path) -> None:
    folder = write_corpus(
        home / "corpora", settings="text_units: {strategy: none}\nsearch: {context_tokens: 400}\n"
    )
    long = "Hanna Quill led the Dockers Union. " + "The tide rose and fell again that day. " * 200
    (folder / "news" / "strike.md").write_text(long, encoding="utf-8")
    run_job("coast")
    index = Index.open("coast")
    for method in ("local", "basic", "SS", "TS", "drift"):
        answer = index.ask("Who led the Dockers Union?", method=method)
        # By vectors alone another document may be nearer, and leave no room.
        assert "led the Dockers Union." in answer.text or method == "SS"
        assert all(use.tokens <= 400 for use in answer.context)


def test_vectors_of_other_settings_are_not_used(warehouse: Warehouse) -> None:
    vectors = warehouse.read(tables.TEXT_UNIT_EMBEDDINGS, "coast")
    import polars as pl

    warehouse.write(tables.TEXT_UNIT_EMBEDDINGS, "coast", vectors.with_columns(embedder=pl.lit("older")))
    publish(warehouse, "coast")
    index = Index.open("coast")
    answer = index.ask("Who led the Dockers Union?", method="local")
    assert "by words alone: its vectors were made by older" in (answer.why or "")
    with pytest.raises(QuestionError, match="materialise the embeddings"):
        index.ask("Who led the Dockers Union?", method="SS")
