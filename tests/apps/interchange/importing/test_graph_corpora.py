"""Corpora of graphs that come from elsewhere: taken in, asked, explained, edited."""

import hashlib
import shutil
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_CONTEXTS, ANSWERS
from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.apps.planning.indexing_plan import plan_corpus
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.file_discovery import FoundFile
from graphrag_dagster.kernel.models.call_estimates import exactly
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.text.evidence import Row
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES
from support.commands import Run
from support.homes import copy_home, shared_home
from support.lineage import why
from support.shared import DATA
from support.tables_of import EVALUATING, contents
from support.traces import column

COLD = "kind: graph\ncommunities: {drift: 0}\n"
EDGES = """from,rel,to
Ada Kvist,founded,Kvist Marine
Kvist Marine,is_based_in,Port Ellery
Ada Kvist,founded,Kvist Marine
Ada Kvist,founded,Ada Kvist
,moored_in,Port Ellery
Bo Tarn,works_for,Kvist Marine
Bo Tarn,lives_in,Port Ellery
Port Ellery,$,Skerry Sound
"""
DULCE = DATA / "msft_graphrag" / "operation_dulce"


def write_graph(home: Path, text: str = EDGES, settings: str = COLD) -> Path:
    folder = home / "corpora" / "harbour"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
    (folder / "edges.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that has been indexed once."""

    def fill(made: Path) -> None:
        write_graph(made)
        run_job("harbour")

    copy_home(shared_home(tmp_path_factory, "graph of edges", fill), home)
    return home / "corpora" / "harbour"


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "harbour")


@pytest.mark.usefixtures("folder")
def test_every_row_is_accounted_for_and_the_graph_is_made_of_those_that_hold() -> None:
    account = read(IMPORT_ACCOUNT).select("record", "outcome", "rows", "first_row").rows()
    assert sorted(account) == [
        ("relations", "duplicate", 1, 4),
        ("relations", "loop", 1, 5),
        ("relations", "malformed", 1, 6),
        ("relations", "read", 5, 2),
    ]
    assert read(IMPORT_QUARANTINE).select("path", "row", "raw").rows() == [
        ("edges.csv", 6, ",moored_in,Port Ellery")
    ]
    triples = set(read(tables.TRIPLES).select("head", "relation", "tail").rows())
    assert ("Port Ellery", "$", "Skerry Sound") in triples
    assert ("Ada Kvist", "founded", "Kvist Marine") in triples
    assert len(triples) == read(tables.RELATIONSHIPS).height == 5
    assert set(read(tables.ENTITIES)["title"]) == {
        *("Ada Kvist", "Bo Tarn", "Kvist Marine", "Port Ellery", "Skerry Sound")
    }
    for unmade in (tables.TEXT_CHUNKS, GLEANED_ENTITIES, ALIASES, tables.TEXT_UNIT_EMBEDDINGS):
        assert read(unmade).is_empty()
    assert not read(tables.COMMUNITY_REPORTS).is_empty()
    measures = dict(read(tables.CORPUS_SUMMARY).filter(area="imports").select("measure", "value").rows())
    assert measures["relations: duplicate"] == 1
    assert measures["relations: malformed"] == 1


@pytest.mark.usefixtures("folder")
def test_an_answer_cites_rows_of_the_graph() -> None:
    answer = Index.open("harbour").ask("Who founded Kvist Marine?", method="local")
    evidence = [source.evidence for source in answer.sources]
    (row,) = [one for one in evidence if isinstance(one, Row) and one.values.get("label") == "founded"]
    assert row.table == "imports.relations"
    assert row.key == "edges.csv:2"
    assert row.values["head"] == "Ada Kvist"
    assert "Ada Kvist" in answer.text


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("kind", "asked", "place"),
    [
        ("entity", "Skerry Sound", "edges.csv:9"),
        ("relationship", "Bo Tarn – Kvist Marine", "edges.csv:7"),
        ("triple", "Bo Tarn lives_in Port Ellery", "edges.csv:8"),
    ],
)
def test_why_leads_to_rows_of_the_graph(kind: str, asked: str, place: str) -> None:
    step = why(Warehouse(), "harbour", kind, asked)  # type: ignore[arg-type]
    assert place in [below.id for below in step.steps]
    assert {one.key for one in step.all_evidence() if isinstance(one, Row)} >= {place}


@pytest.mark.long
def test_a_row_that_was_added_and_deleted_leaves_tables_as_they_were_and_no_trace(folder: Path) -> None:
    # Where entities are drawn depends on where they were.
    without = (*EVALUATING, "layout")
    first = contents(Warehouse(), "harbour", without)
    write_graph(folder.parent.parent, EDGES + "Zebulon Quarrow,keeps,Skerry Sound\n")
    run_job("harbour")
    assert "Zebulon Quarrow" in set(read(tables.ENTITIES)["title"])
    assert set(read(tables.LAYOUT)["entity_id"]) == set(read(tables.ENTITIES)["entity_id"])
    write_graph(folder.parent.parent)
    run_job("harbour")
    assert contents(Warehouse(), "harbour", without) == first
    home = folder.parent.parent
    holding = [
        file
        for part in ("warehouse", "cache")
        for file in (home / part).rglob("*")
        if file.is_file() and b"Zebulon" in file.read_bytes()
    ]
    assert holding == []


def test_a_file_that_cannot_be_read_is_told_and_stops_nothing_but_none_at_all_does(
    folder: Path, run: Run
) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 nothing")
    run_job("harbour")
    files = dict(read(tables.FILES).select("path", "status").rows())
    assert files == {"broken.parquet": "failed", "edges.csv": "read"}
    before = contents(Warehouse(), "harbour")
    (folder / "edges.csv").unlink()
    code, out, err = run("index", "harbour")
    assert code == 1
    assert "no graph could be read" in out + err
    assert contents(Warehouse(), "harbour") == before


def test_entities_of_the_same_title_are_told_apart_by_their_keys_and_merged_across_files(home: Path) -> None:
    folder = write_graph(home, "from,rel,to\nn1,flows_into,n2\nn3,lies_on,n1\n")
    (folder / "nodes.csv").write_text(
        "id,label,type\nn1,Ellery,river\nn2,Sound,sea\nn3,Ellery,town\n", "utf-8"
    )
    (folder / "more.csv").write_text("from,rel,to\nSound,borders,Skerry\n", "utf-8")
    run_job("harbour")
    assert set(read(tables.ENTITIES).select("name", "type").rows()) == {
        ("Ellery (n1)", "river"),
        ("Ellery (n3)", "town"),
        ("Sound", "sea"),
        ("Skerry", "UNKNOWN"),
    }
    assert ("Ellery (n3)", "lies_on", "Ellery (n1)") in read(tables.TRIPLES).select(
        "head", "relation", "tail"
    ).rows()


def test_what_is_for_documents_cannot_be_switched_on_for_a_graph() -> None:
    with pytest.raises(
        SettingsError, match="coterag.enabled is true, but it only applies to corpora of kind documents"
    ):
        parse_settings({"kind": "graph", "coterag": {"enabled": True}}, "corpus.yaml")


@pytest.mark.long
@pytest.mark.skipif(not DULCE.is_dir(), reason="the data set is not there")
def test_microsofts_texts_communities_and_reports_are_kept_or_made_anew(home: Path) -> None:
    folder = home / "corpora" / "harbour"
    shutil.copytree(DULCE, folder, ignore=shutil.ignore_patterns("*.zip", "*.md"))
    (folder / "corpus.yaml").write_text("kind: graph\n", "utf-8")
    run_job("harbour")
    theirs = pl.read_parquet(DULCE / "community_reports.parquet")
    reports = read(tables.COMMUNITY_REPORTS)
    assert set(reports["engine"]) == {"imported"}
    assert sorted(reports["content"]) == sorted(theirs["full_content"])
    sizes = pl.read_parquet(DULCE / "communities.parquet").select("level", "size").rows()
    assert sorted(read(tables.COMMUNITIES).select("level", "size").rows()) == sorted(sizes)
    references = read(tables.REPORT_REFERENCES)
    assert references["valid"].all()
    assert not references.is_empty()
    units = read(tables.TEXT_CHUNKS)
    assert sorted(units["text"]) == sorted(pl.read_parquet(DULCE / "text_units.parquet")["text"])
    dangling = read(IMPORT_ACCOUNT).filter(outcome="dangling")["rows"].to_list()
    assert dangling == [2]
    answer = Index.open("harbour").ask("Who leads the Paranormal Military Squad?", method="basic")
    assert answer.sources

    (folder / "corpus.yaml").write_text("kind: graph\nimports: {communities: made}\n", "utf-8")
    run_job("harbour")
    assert set(read(tables.COMMUNITY_REPORTS)["engine"]) == {"extractive"}
    (folder / "corpus.yaml").write_text("kind: graph\nimports: {reports: made}\n", "utf-8")
    run_job("harbour")
    assert set(read(tables.COMMUNITY_REPORTS)["engine"]) == {"extractive"}
    assert sorted(read(tables.COMMUNITIES).select("level", "size").rows()) == sorted(sizes)


def test_a_graph_becomes_a_corpus_with_what_was_found_of_its_columns(
    home: Path, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "film facts.tsv"
    file.write_text("subject\tpredicate\tobject\tweight\nKismet\tdirected_by\tDieterle\t2\n", "utf-8")
    code, out, err = run("import", str(file))
    assert code == 0, err
    assert "subject" in out
    settings = (home / "corpora" / "film-facts" / "corpus.yaml").read_text("utf-8")
    assert "weight: strength_sum" in settings
    code, out, err = run("import", str(file))
    assert code == 1
    assert "already" in err
    code, out, err = run("import", str(file), "--name", "films")
    assert code == 0, err
    code, out, err = run("index", "films")
    assert code == 0, err
    assert Warehouse().read(tables.RELATIONSHIPS, "films")["weight"].to_list() == [2.0]


def test_a_folder_of_documents_and_one_without_a_graph_are_no_graphs(
    home: Path, tmp_path: Path, run: Run
) -> None:
    documents = tmp_path / "letters"
    documents.mkdir()
    (documents / "corpus.yaml").write_text("description: letters\n", "utf-8")
    code, _, err = run("import", str(documents))
    assert code == 1
    assert "corpus of documents" in err
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "notes.md").write_text("# none\n", "utf-8")
    code, _, err = run("import", str(empty))
    assert code == 1
    assert "no graph" in err
    assert not (empty / "corpus.yaml").exists()
    assert run("import", str(tmp_path / "nowhere"))[0] == 1


def test_a_plan_counts_what_a_model_will_be_asked_before_anything_is_made(home: Path) -> None:
    settings = COLD + "engine: llm\nmodel: {name: m, base_url: 'http://127.0.0.1:9/v1'}\n"
    write_graph(home, settings=settings)
    plan = plan_corpus("harbour")
    assert [one.stage for one in plan.estimates] == ["merging", "reports"]
    assert plan.estimates[1].calls.expected > 0
    assert plan.text_units == 0
    assert Warehouse().corpora() == []


@pytest.mark.parametrize(("levels", "calls"), [("null", 4), ("1", 3), ("0", 1)])
def test_a_plan_counts_the_reports_of_communities_that_are_kept(home: Path, levels: str, calls: int) -> None:
    settings = f"""
kind: graph
engine: llm
model: {{name: m, base_url: 'http://127.0.0.1:9/v1'}}
imports: {{communities: kept}}
reports: {{levels: {levels}}}
"""
    folder = write_graph(home, settings=settings)
    (folder / "edges.csv").unlink()
    names = ["Ada", "Bo", "Cy", "Di"]
    pl.DataFrame({"id": names, "human_readable_id": range(4), "title": names, "type": names}).write_parquet(
        folder / "entities.parquet"
    )
    pl.DataFrame({"source": names[:-1], "target": names[1:]}).write_parquet(folder / "relationships.parquet")
    pl.DataFrame(
        {
            "community": [0, 1, 2, 3],
            "level": [0, 1, 1, 2],
            "parent": [-1, 0, 0, 1],
            "title": ["All", "Two", "Others", "One"],
            "entity_ids": [names, names[:2], names[2:], names[:1]],
        }
    ).write_parquet(folder / "communities.parquet")
    (reports,) = (one for one in plan_corpus("harbour").estimates if one.stage == "reports")
    assert reports.calls == exactly(calls)


@pytest.mark.usefixtures("folder")
def test_a_query_over_the_graph_finds_rows_and_cites_them() -> None:
    answer = Index.open("harbour").ask("Who founded Kvist Marine?", method="graph")
    assert column(answer, "Queries", "made by")[0] == "template by_relation"
    cited = next(source for source in answer.sources if source.kind == "relationship")
    assert isinstance(cited.evidence, Row)
    assert (cited.evidence.table, cited.evidence.key) == ("imports.relations", "edges.csv:2")
    assert "Ada Kvist" in answer.text
    between = Index.open("harbour").ask("How is Ada Kvist related to Skerry Sound?", method="graph")
    assert {use.title for use in between.context} >= {
        "Port Ellery — Skerry Sound",
        "Ada Kvist — Kvist Marine",
    }


@pytest.mark.parametrize("how", [{"method": "SS"}, {"method": "basic", "retrieval": "vector"}])
@pytest.mark.usefixtures("folder")
def test_vectors_alone_find_what_a_graph_without_texts_says(how: dict[str, str]) -> None:
    corpus = Path("corpora/harbour/corpus.yaml")
    if retrieval := how.pop("retrieval", None):
        corpus.write_text(f"{COLD}search: {{retrieval: {retrieval}}}\n", "utf-8")
    answer = Index.open("harbour").ask("Who founded Kvist Marine?", **how)
    rows = [one.evidence for one in answer.sources if isinstance(one.evidence, Row)]
    assert "edges.csv:2" in {row.key for row in rows}
    assert "words alone" not in (answer.why or "")
    assert read(tables.TEXT_UNIT_EMBEDDINGS).is_empty()


def test_a_graph_without_texts_is_evaluated_in_all_conditions(folder: Path, run: Run) -> None:
    (folder / "corpus.yaml").write_text(
        COLD
        + "questions: {methods: [C0, TS, SS], ask: [Who founded Kvist Marine?, Who lives in Port Ellery?]}\n",
        "utf-8",
    )
    code, out, err = run("evaluate", "harbour")
    assert code == 0, out + err
    counted = read(ANSWERS).group_by("method").len()
    assert dict(counted.iter_rows()) == {"C0": 2, "TS": 2, "SS": 2}
    asked = read(ANSWERS).filter(method="SS").join(read(ANSWER_CONTEXTS), on="answer_id")
    assert not asked.is_empty()


def test_the_files_of_a_graph_are_looked_for_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_graph(home)
    found = CorpusStore.found
    looked: list[str] = []

    def counted(store: CorpusStore, name: str) -> list[FoundFile]:
        looked.append(name)
        return found(store, name)

    monkeypatch.setattr(CorpusStore, "found", counted)
    import_graphs(CorpusStore(), Warehouse(), "harbour")
    assert looked == ["harbour"]
    hashed = hashlib.sha256(EDGES.encode()).hexdigest()
    assert read(IMPORTED_FILES).select("path", "sha256").rows() == [("edges.csv", hashed)]
