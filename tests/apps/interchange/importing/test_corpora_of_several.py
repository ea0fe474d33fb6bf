"""A corpus made of others: each document keeps its origin, and what goes there goes here."""

from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.file_discovery import matches, pattern_below
from graphrag_dagster.kernel.pipeline.index_status import status_of
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.evidence import Row
from support.tables_of import contents

HARBOUR = (
    "Orrin Vask founded Tallow Marine in 1998. Tallow Marine acquired Brinefield Shipping in March 2014."
)
COUNCIL = "Ilse Maro advised the Northern Council. The Northern Council granted Tallow Marine a licence."
GONE = "Zebulon Quarrow wrote to the Northern Council about Tallow Marine."


def write(home: Path, name: str, settings: str = "", **files: str) -> Path:
    folder = home / "corpora" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text, encoding="utf-8")
    if settings:
        (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def all_of_them(home: Path) -> Path:
    write(home, "harbour", founding_txt=HARBOUR)
    write(
        home, "council", 'tables: {"*.csv": {text: said}}', licence_txt=COUNCIL, notes_csv=f"said\n{GONE}\n"
    )
    return write(home, "town", "corpora: [harbour, council]\ncommunities: {drift: 0}\n")


@pytest.mark.long
def test_documents_keep_their_origin_and_their_columns_and_deletions_are_followed(all_of_them: Path) -> None:
    run_job("town")
    documents = Warehouse().read(tables.DOCUMENTS, "town")
    assert sorted(documents["path"]) == ["council/licence.txt", "council/notes.csv", "harbour/founding.txt"]
    assert GONE in set(documents["text"])
    entities = Warehouse().read(tables.ENTITIES, "town")
    both = entities.filter(title="Tallow Marine")
    assert both["frequency"].item() == 3

    (all_of_them.parent / "council" / "notes.csv").unlink()
    assert status_of("town").files.removed == ("council/notes.csv",)
    run_job("town", resources={"clustering": {"cold": True}})
    assert "Zebulon Quarrow" not in set(Warehouse().read(tables.ENTITIES, "town")["title"])
    edited = contents(Warehouse(), "town")
    Warehouse().file("town").unlink()
    run_job("town")
    assert contents(Warehouse(), "town") == edited


def test_a_question_restricted_to_one_graph_reads_nothing_of_another(home: Path) -> None:
    graph = "kind: graph\ncommunities: {drift: 0}\n"
    write(home, "harbour", graph, edges_csv="from,rel,to\nAda Kvist,founded,Kvist Marine\n")
    nodes = "id,label,description\nAda Kvist,Ada Kvist,a councillor\n"
    links = "from,rel,to\nAda Kvist,chairs,Northern Council\n"
    write(home, "council", graph, links_csv=links, nodes_csv=nodes)
    write(home, "town", graph + "corpora: [harbour, council]\n")
    run_job("town")
    index = Index.open("town")

    def cited(question: str, folder: str) -> set[str]:
        answer = index.ask(question, method="basic", filters=Filters(folders=(folder,)))
        return {one.evidence.key for one in answer.sources if isinstance(one.evidence, Row)}

    assert cited("Who founded Kvist Marine?", "harbour") == {"harbour/edges.csv:2"}
    assert "harbour/edges.csv:2" not in cited("Who founded Kvist Marine?", "council")
    assert "council/links.csv:2" in cited("What does Ada Kvist chair?", "council")
    assert "council/links.csv:2" not in cited("What does Ada Kvist chair?", "harbour")
    one = index.ask("Who is Ada Kvist?", method="basic").context
    assert len([row for row in one if row.title == "Ada Kvist"]) == 2


def test_circles_other_kinds_and_names_that_clash_are_refused(all_of_them: Path) -> None:
    store, home = CorpusStore(), all_of_them.parent.parent
    write(home, "council", "corpora: [town]")
    with pytest.raises(CorpusError, match="town → council → town"):
        store.settings("town")
    write(home, "council", "kind: graph")
    with pytest.raises(CorpusError, match="'council'.*kind graph"):
        store.settings("town")
    write(home, "council", "description: the council")
    (all_of_them / "council").mkdir()
    (all_of_them / "council" / "own.txt").write_text(COUNCIL, "utf-8")
    with pytest.raises(CorpusError, match="rename one"):
        store.found("town")
    write(home, "town", "corpora: [nobody]")
    with pytest.raises(CorpusError, match="no corpus 'nobody'"):
        store.found("town")


@pytest.mark.parametrize("pattern", ["*.csv", "drafts", "/top.csv", "a/*.csv", "a/**/b.csv", "**/b.csv"])
@pytest.mark.parametrize(
    "path", ["x.csv", "a/x.csv", "top.csv", "a/top.csv", "a/c/b.csv", "drafts/x.txt", "b.csv"]
)
def test_a_pattern_means_below_a_folder_what_it_meant(pattern: str, path: str) -> None:
    assert matches(f"hr/{path}", pattern_below("hr", pattern)) == matches(path, pattern)
    assert not matches(f"legal/{path}", pattern_below("hr", pattern))
