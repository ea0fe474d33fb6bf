"""Context nodes are made with the index where they are switched on, and change nothing that lies below them."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.pipeline.index_status import status_of
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_ACCOUNT, CONTEXT_NODES, CONTEXT_VECTORS
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_CANDIDATES
from graphrag_dagster.systems.graphrag.tables import REPORT_CONTEXTS
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home
from support.lineage import why
from support.modelled import write_modelled

OWN = [table for table in all_tables() if table.group == "context"]
BELOW = (tables.COMMUNITIES, tables.COMMUNITY_MEMBERS, tables.COMMUNITY_LEVELS, tables.ENTITY_EMBEDDINGS)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


@pytest.fixture
def corpus(context_home: Path, home: Path) -> Path:
    """The folder of the corpus in a home of its own."""
    copy_home(context_home, home)
    return home / "corpora" / "coast"


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


def test_what_is_made_fits_together_and_leaves_the_partition_as_it_is(corpus: Path) -> None:
    candidates, nodes, account = (
        read(table) for table in (CONTEXT_CANDIDATES, CONTEXT_NODES, CONTEXT_ACCOUNT)
    )
    keys = ["level", "community_id", "entity_id", "home_id"]
    assert nodes.height > 0
    assert nodes.select(keys).sort(keys).equals(candidates.filter(outcome="taken").select(keys).sort(keys))
    levels = read(tables.COMMUNITY_LEVELS)
    home = nodes.join(levels, on=["level", "entity_id"], suffix="_own")
    assert (home["community_id_own"] == home["home_id"]).all()
    assert (home["home_id"] != home["community_id"]).all()
    outcomes = ("taken", "over_budget", "penalised", "unreachable", "dissimilar")
    assert (account["misaligned"] == account.select(pl.sum_horizontal(outcomes)).to_series()).all()
    assert set(read(CONTEXT_VECTORS)["entity_id"]) == set(nodes["entity_id"])

    before = {table: read(table) for table in BELOW}
    (corpus / "corpus.yaml").write_text("context: {alpha: 2, enabled: false}\n")
    assert {"context", "reports"} <= set(status_of("coast").redo)
    run_job("coast")
    assert all(read(table).is_empty() for table in OWN)
    assert all(read(table).equals(frame) for table, frame in before.items())


def test_reports_show_them_and_lineage_tells_of_them(corpus: Path) -> None:
    assert corpus.is_dir()
    nodes = read(CONTEXT_NODES).join(
        read(tables.COMMUNITIES).select("community_id", "level"), on=["community_id", "level"], how="semi"
    )
    contexts = read(REPORT_CONTEXTS)
    with_section = contexts.filter(pl.col("context").str.contains("-----Context nodes-----"))
    assert set(with_section["report_id"]) == set(nodes["community_id"])
    entity, community = nodes.sort("rank").select("entity_id", "community_id").row(0)
    explained = why(Warehouse(), "coast", "entity", entity)
    placed = [step for step in explained.steps if step.kind == "context node"]
    report = why(Warehouse(), "coast", "report", community)
    assert community in {step.id for step in placed}
    assert placed[0].facts["outcome"] == "taken"
    (context,) = (step for step in report.steps if step.kind == "context")
    assert entity in {step.id for step in context.steps if step.kind == "context node"}
    findings = read(tables.REPORT_FINDINGS).filter(report_id=community)["summary"].to_list()
    assert findings[-1].startswith("Outside the community: ")


@pytest.mark.long
def test_only_communities_whose_section_changed_are_written_again(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    folder = write_modelled(home / "corpora", endpoint)
    run_job("coast")
    settings = (folder / "corpus.yaml").read_text()
    paid = len(endpoint.requests)
    (folder / "corpus.yaml").write_text(f"{settings}context: {{min_sim: -1, alpha: 2}}\n")
    run_job("coast")
    attached = (
        read(CONTEXT_NODES)
        .join(read(tables.COMMUNITIES), on=["community_id", "level"], how="semi")["community_id"]
        .n_unique()
    )
    contexts = read(REPORT_CONTEXTS)["context"]
    assert contexts.str.contains("-----Context nodes-----").sum() == attached > 0
    asked = [request for request in endpoint.requests[paid:] if "You write reports" in str(request)]
    assert len(asked) == attached < read(tables.COMMUNITIES).height
    assert all("-----Context nodes-----" in str(one) and "are not members" in str(one) for one in asked)
    paid = len(endpoint.requests)
    run_job("coast")
    assert len(endpoint.requests) == paid


def test_the_profile_of_the_fourth_paper_is_flat_and_keeps_few_vectors(home: Path) -> None:
    write_corpus(home / "corpora", settings="{profile: paper_004, context: {embedding: spectral}}\n")
    run_job("coast")
    assert read(tables.COMMUNITIES)["level"].unique().to_list() == [0]
    assert read(tables.TEXT_UNIT_EMBEDDINGS).is_empty()
    assert read(tables.ENTITY_EMBEDDINGS).is_empty()
    assert read(tables.REPORT_EMBEDDINGS).height == read(tables.COMMUNITY_REPORTS).height
    assert "spectral" in read(CONTEXT_ACCOUNT)["embedding"][0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"embeddings": {"kept": "communities"}, "context": {"embedding": "text"}}, "context.embedding text"),
        ({"embeddings": {"kept": "communities"}, "coterag": {"enabled": True}}, "coterag"),
        ({"embeddings": {"kept": "communities"}}, "questions.methods SS"),
        ({"context": {"penalty": "none"}}, "penalty"),
        ({"context": {"alpha": -1}}, "alpha"),
        ({"context": {"lamda_max": 3}}, "lambda_max"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        parse_settings(given, "corpus.yaml")


def test_any_key_switches_it_on() -> None:
    assert not CorpusSettings().context.enabled
    assert parse_settings({"context": {"alpha": 2}}, "corpus.yaml").makes("context")
    assert not parse_settings({"context": {"alpha": 2, "enabled": False}}, "corpus.yaml").makes("context")


def graph_of(home: Path, rows: list[str], settings: str = "") -> None:
    """Index a graph of triples with context nodes."""
    folder = home / "corpora" / "coast"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "triples.csv").write_text("\n".join(["head,relation,tail", *rows, ""]))
    (folder / "corpus.yaml").write_text(f"kind: graph\ncontext: {{enabled: true{settings}}}\n")
    run_job("coast")


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "nodes", "communities"),
    [(["a,knows,a"], 0, 0), (["a,knows,b"], 2, 1), (["a,knows,b", "b,knows,c", "c,knows,a"], 3, 1)],
)
def test_a_graph_without_two_communities_has_no_context_nodes(
    home: Path, rows: list[str], nodes: int, communities: int
) -> None:
    graph_of(home, rows)
    account = read(CONTEXT_ACCOUNT)
    assert set(account["nodes"]) <= {nodes}
    assert set(account["communities"]) <= {communities}
    assert account["misaligned"].sum() == 0
    assert read(CONTEXT_NODES).is_empty()
    assert read(CONTEXT_VECTORS).is_empty()


def test_documents_that_name_nothing_have_no_context_nodes(home: Path) -> None:
    folder = home / "corpora" / "coast"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("It rained all day, and then it stopped.")
    (folder / "corpus.yaml").write_text("context: {enabled: true}\n")
    run_job("coast")
    assert all(read(table).is_empty() for table in OWN)


def test_an_entity_of_a_graph_from_elsewhere_goes_with_what_is_described_alike(home: Path) -> None:
    parts = ["dog", "cat", "horse", "cow"], ["boat", "ship", "ferry", "vessel"]
    edges = [f"{one},near,{two}" for part in parts for one in part for two in part if one < two]
    described = [f"{one},animal,An animal that eats grass" for one in (*parts[0], "puppy")]
    described += [f"{one},craft,A craft that sails the sea" for one in parts[1]]
    folder = home / "corpora" / "coast"
    folder.mkdir(parents=True)
    (folder / "entities.csv").write_text("\n".join(["title,type,description", *described, ""]))
    graph_of(home, [*edges, "cow,near,boat", *(f"puppy,near,{one}" for one in parts[1][:3])])
    nodes = read(CONTEXT_NODES).filter(level=0)
    titles = dict(read(tables.ENTITIES).select("entity_id", "title").iter_rows())
    assert [titles[one] for one in nodes["entity_id"]] == ["puppy"]
    outside = read(tables.REPORT_FINDINGS)["summary"].to_list()
    assert "Outside the community: puppy" in outside
