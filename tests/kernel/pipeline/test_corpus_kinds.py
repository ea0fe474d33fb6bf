"""Corpora have a kind, and a stage that is not for it costs nothing and shows nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.assets.step_assets import assets_of
from graphrag_dagster.component import compose
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.catalogue import registry
from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.pipeline.index_status import following, outdated_stages, status_of
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.settings.corpus_settings import load_settings, parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.resources.dagster_keys import CORPUS, asset_key
from support.corpora import write_corpus

TEXT = {"corpus", "extraction", "embeddings"}


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue with a second kind of corpora, for which the stages that read texts are not."""
    both = ("documents", "toys")
    declared = tuple(
        replace(stage, kinds=("documents",) if stage.name in TEXT else both)
        for stage in registry.declared_stages()
    )
    monkeypatch.setattr(registry, "KINDS", both)
    monkeypatch.setattr(registry, "declared_stages", lambda: declared)
    stages.cache_clear()
    yield
    monkeypatch.undo()
    stages.cache_clear()


@pytest.mark.usefixtures("two_kinds")
def test_what_is_not_for_a_kind_is_no_part_of_its_index() -> None:
    texts, toys = (parse_settings({"kind": kind}, "") for kind in ("documents", "toys"))
    made = toys.stages_made("index")
    assert made == [name for name in texts.stages_made("index") if name not in TEXT]
    assert set(texts.asked_by_index) - set(toys.asked_by_index) == {"extraction", "claims", "typing"}
    assert following({"corpus", "reports"}, made) == made[made.index("reports") :]


@pytest.fixture
def switched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue in which the reports are made only where claims are enabled."""
    declared = tuple(
        replace(stage, switch="claims") if stage.name == "reports" else stage
        for stage in registry.declared_stages()
    )
    monkeypatch.setattr(registry, "declared_stages", lambda: declared)
    stages.cache_clear()
    yield
    monkeypatch.undo()
    stages.cache_clear()


@pytest.mark.usefixtures("switched")
def test_a_stage_that_is_switched_off_is_not_made_and_asks_nobody(home: Path) -> None:
    off, on = (parse_settings({"engine": "llm", "claims": {"enabled": on}}, "") for on in (False, True))
    assert "reports" not in off.stages_made("index")
    assert "reports" in on.stages_made("index")
    assert not off.asks_model("reports")
    assert on.asks_model("reports")
    write_corpus(home / "corpora", "town")
    assert "reports" not in status_of("town").redo

    def refused(_tables: Tables, _run: StepRun) -> Iterator[Made]:
        raise AssertionError

    assert made("town", Step("reports", refused, assets={tables.REPORT_FINDINGS: ()}))
    assert Warehouse().read(tables.REPORT_FINDINGS, "town").is_empty()


def made(corpus: str, *stages: Step) -> bool:
    """Whether a run of some stages comes to its end."""
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(CORPUS.name or "", [corpus])
        shown = frozenset(asset_key(table) for stage in stages for table in stage.assets)
        wanted = [assets_of(stage, shown) for stage in stages]
        resources = compose().resources or {}
        return dg.materialize(
            wanted, partition_key=corpus, resources=resources, instance=instance, raise_on_error=False
        ).success


@pytest.mark.usefixtures("two_kinds")
def test_no_model_is_asked_and_no_engine_wanted_for_what_is_not_done() -> None:
    settings = {"engine": "llm", "claims": {"enabled": True}, "model": {"name": "m"}}
    texts, toys = (parse_settings({"kind": kind, **settings}, "") for kind in ("documents", "toys"))
    asked = [
        [one for one in ("extraction", "claims", "reports") if of.asks_model(one)] for of in (texts, toys)
    ]
    assert asked == [["extraction", "claims", "reports"], ["reports"]]


@pytest.mark.usefixtures("two_kinds")
def test_status_names_stages_of_the_kind_only(home: Path) -> None:
    write_corpus(home / "corpora", "toys", "kind: toys\n")
    assert TEXT.isdisjoint(status_of("toys").redo)
    write_corpus(home / "corpora", "texts")
    assert set(status_of("texts").redo) >= TEXT


@pytest.mark.usefixtures("two_kinds")
def test_what_is_not_for_a_kind_does_not_run_and_leaves_empty_tables(home: Path) -> None:
    ran: list[str] = []

    def text_units(_tables: Tables, _run: StepRun) -> Iterator[Made]:
        ran.append("text_units")
        vectors = pl.col("vector").cast(pl.Array(pl.Float32, 3))
        yield Made(tables.TEXT_UNIT_EMBEDDINGS, tables.TEXT_UNIT_EMBEDDINGS.empty().with_columns(vectors))

    def communities(given: Tables, run: StepRun) -> Iterator[Made]:
        units = given[tables.TEXT_UNIT_EMBEDDINGS]
        ran.append(f"communities beside {units.height} of {len(run.corpora.names())} corpora")
        yield Made(tables.COMMUNITIES, tables.COMMUNITIES.empty())

    def files(_tables: Tables, run: StepRun) -> Iterator[Made]:
        ran.append(f"files of {run.corpus} in {run.warehouse.file(run.corpus).name}")
        for table in (tables.FILES, tables.DOCUMENTS):
            yield Made(table, table.empty())

    wanted = (
        Step("files", files, assets=dict.fromkeys((tables.FILES, tables.DOCUMENTS), ())),
        Step("units", text_units, assets={tables.TEXT_UNIT_EMBEDDINGS: (tables.DOCUMENTS,)}),
        Step(
            "found",
            communities,
            reads=(tables.TEXT_UNIT_EMBEDDINGS,),
            assets={tables.COMMUNITIES: (tables.TEXT_UNIT_EMBEDDINGS,)},
        ),
    )
    for name in ("texts", "toys"):
        write_corpus(home / "corpora", name, "kind: toys\n" if name == "toys" else "")
        Warehouse().write(tables.TEXT_CHUNKS, name, tables.TEXT_CHUNKS.empty())
        assert made(name, *wanted)
        for table in (tables.TEXT_UNIT_EMBEDDINGS, tables.FILES, tables.DOCUMENTS, tables.COMMUNITIES):
            assert Warehouse().read(table, name).is_empty()
    beside = "communities beside 0 of"
    assert ran == [
        "files of texts in texts.duckdb",
        "text_units",
        f"{beside} 1 corpora",
        f"{beside} 2 corpora",
    ]


@pytest.mark.usefixtures("two_kinds")
def test_of_a_stage_of_several_parts_only_what_is_not_made_is_left_empty(home: Path) -> None:
    def both(_tables: Tables, run: StepRun) -> Iterator[Made]:
        assert not run.settings.makes("corpus")
        yield Made(tables.COMMUNITIES, tables.COMMUNITIES.empty(), {"found": 0})

    write_corpus(home / "corpora", "toys", "kind: toys\n")
    parts = dict.fromkeys((tables.COMMUNITIES, tables.FILES), ())
    assert made("toys", Step("both", both, assets=parts))
    assert Warehouse().read(tables.FILES, "toys").is_empty()


def test_a_corpus_of_another_kind_is_made_anew() -> None:
    parts: dict[str, dict[str, str]] = {"prompts": {}, "models": {}, "code": {}, "libraries": {}}
    then, now = ({**parts, "settings": {"kind": kind}} for kind in ("documents", "toys"))
    assert outdated_stages(then, now) == set(stages())


def test_a_kind_that_there_is_not_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("kind: toys\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"line 1.*kind.*'documents'"):
        load_settings(tmp_path)
