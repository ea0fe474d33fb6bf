"""What is unchanged is not extracted again, and nobody can tell from the tables."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.component import compose
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.code_versions import begin_replacing
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.storage.home import HomeFolders
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tasks.task_ports import (
    ClaimInstance,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    UnitExtraction,
)
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.index.extraction_tables import ExtractionFrames, extraction_frames
from graphrag_dagster.systems.graphrag.index.incremental_extraction import (
    extract_new,
    reusable_extraction,
    state_of,
)
from graphrag_dagster.systems.graphrag.tables import (
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TYPINGS,
)
from support.corpora import write_corpus
from support.endpoint import Fault, ScriptedEndpoint
from support.homes import copy_home, shared_home
from support.modelled import write_modelled

CLAIMS_TOO = "claims: {enabled: true}\ntext_units: {size: 40, overlap: 10}\n"
TABLES = ("entities", "relationships", "claims", "ledger", "quarantine", "typings")


def unit_of(name: str) -> UnitExtraction:
    """A made-up extraction that depends on the unit's name alone; some are empty, some have several of all."""
    size = sum(map(ord, name)) % 4
    entities = tuple(
        EntityInstance(f"E{n}", f"e{n}", "GEO", name, spans=(Span(n, n + 1),)) for n in range(size)
    )
    relations = tuple(RelationshipInstance("E0", f"E{n}", name, 1.0, "verb") for n in range(1, size))
    claims = tuple(ClaimInstance("E0", None, "ACT", "TRUE", f"{name} {n}") for n in range(size // 2))
    aside = tuple(Quarantined("relationship", name, "dangling") for _ in range(size % 2))
    if not size:
        return UnitExtraction(name, "empty", reason="no names found")
    return UnitExtraction(
        name,
        "extracted",
        entities=entities,
        relationships=relations,
        claims=claims,
        quarantined=aside,
        untyped=frozenset(one.name for one in entities[1:]),
    )


def chunks_of(names: list[str]) -> pl.DataFrame:
    schema = {"text_unit_id": pl.String, "human_readable_id": pl.Int32}
    return pl.DataFrame([(name, n) for n, name in enumerate(names)], schema=schema, orient="row")


def made(chunks: pl.DataFrame) -> ExtractionFrames:
    ordered = chunks.sort("human_readable_id")["text_unit_id"]
    return extraction_frames([unit_of(name) for name in ordered], "extractive")


def shuffled(frames: ExtractionFrames) -> ExtractionFrames:
    return ExtractionFrames(
        *(getattr(frames, name).sample(fraction=1, shuffle=True, seed=1) for name in TABLES)
    )


def same(first: ExtractionFrames, second: ExtractionFrames) -> bool:
    return all(
        getattr(first, name).schema == getattr(second, name).schema
        and getattr(first, name).equals(getattr(second, name))
        for name in TABLES
    )


unit_names = st.lists(st.text("abcdefgh", min_size=1, max_size=3), unique=True, max_size=12)


@given(unit_names, unit_names)
def test_reuse_gives_what_extracting_everything_gives(before: list[str], now: list[str]) -> None:
    asked: list[str] = []

    def extract(chunks: pl.DataFrame) -> ExtractionFrames:
        asked.extend(chunks["text_unit_id"])
        return made(chunks)

    found = extract_new(chunks_of(now), shuffled(made(chunks_of(before))), extract)
    assert same(found.frames, made(chunks_of(now)))
    assert set(asked) == set(now) - set(before)
    assert set(found.taken_over["text_unit_id"]) == set(now) & set(before)


@pytest.mark.parametrize("table", ["entities", "relationships", "claims", "quarantine"])
def test_a_unit_with_a_lost_row_is_extracted_again(table: str) -> None:
    chunks = chunks_of(list("abcdefgh"))
    whole = made(chunks)
    broken = ExtractionFrames(
        **{name: getattr(whole, name).slice(1 if name == table else 0) for name in TABLES}
    )
    lost = set(getattr(whole, table)["text_unit_id"]) - set(getattr(broken, table)["text_unit_id"])
    found = extract_new(chunks, broken, made)
    assert same(found.frames, whole)
    assert found.taken_over.height == 7
    assert lost or getattr(whole, table).height > 1


@pytest.fixture
def corpus(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a corpus whose text units have been extracted once."""

    def fill(made: Path) -> None:
        write_corpus(made / "corpora", settings=CLAIMS_TOO)
        index(made)

    copy_home(shared_home(tmp_path_factory, "extracted", fill), home)
    return home / "corpora" / "coast"


def index(home: Path, corpora: Path | None = None) -> tuple[int, str]:
    """Extract the corpus into its file; gives the units taken over, and why not more."""
    places = HomeFolders(corpora=str(corpora or home / "corpora"), warehouse=str(home / "{corpus}.duckdb"))
    composed = compose(places)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("corpus", ["coast"])
        run = dg.materialize(
            [one for one in composed.assets or () if one.op.name in {"corpus", "extraction"}],
            partition_key="coast",
            instance=instance,
            resources=composed.resources,
        )
    (made,) = (
        one.metadata
        for one in run.asset_materializations_for_node("extraction")
        if one.asset_key.path[-1] == "unit_ledger"
    )
    return int(str(made["units_reused"].value)), str(made["extracted_anew_because"].value)


def units_of(home: Path) -> set[str]:
    return set(warehouse_of(home).read(tables.TEXT_CHUNKS, "coast")["text_unit_id"])


def warehouse_of(home: Path) -> Warehouse:
    return Warehouse(path=str(home / "{corpus}.duckdb"))


def cold(home: Path, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The extraction of the folder as it is now, by a run that knows nothing."""
    other = home / "cold"
    shutil.copytree(folder, other / "corpora" / "coast")
    assert index(other, other / "corpora")[0] == 0
    return extracted(other)


def extracted(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the extraction in the order in which they are stored."""
    with duckdb.connect(str(home / "coast.duckdb"), read_only=True) as connection:
        return {
            table.full_name: connection.execute(f'from "{table.schema}"."{table.name}"').fetchall()
            for table in all_tables()
            if table.schema == "extraction"
        }


def change_all(folder: Path) -> None:
    (folder / "news" / "arrival.txt").write_text(
        "Hanna Quill met Ilse Maro at Skerry Point. Wavecrest Energy paid the Dockers Union in 2018.",
        encoding="utf-8",
    )
    (folder / "news" / "merger.txt").unlink()
    letter = folder / "institute" / "letter.txt"
    letter.write_text(letter.read_text(encoding="utf-8").replace("2017", "2019"), encoding="utf-8")


def test_added_edited_and_deleted_documents_give_the_bytes_of_a_cold_run(home: Path, corpus: Path) -> None:
    before = units_of(home)
    change_all(corpus)
    number, _ = index(home)
    assert number == len(before & units_of(home))
    assert 0 < number < len(units_of(home))
    found = extracted(home)
    assert found == cold(home, corpus)
    assert found["extraction.claims"]


def test_an_unchanged_corpus_is_taken_over_whole(home: Path, corpus: Path) -> None:
    before = extracted(home)
    assert index(home) == (len(units_of(home)), "nothing was")
    assert extracted(home) == before


def test_added_then_deleted_leaves_no_row(home: Path, corpus: Path) -> None:
    before = extracted(home)
    (corpus / "more.txt").write_text("Zebulon Quarx visited Port Ellery.", encoding="utf-8")
    index(home)
    assert extracted(home) != before
    (corpus / "more.txt").unlink()
    index(home)
    assert extracted(home) == before


def test_another_setting_extracts_everything_anew(home: Path, corpus: Path) -> None:
    (corpus / "corpus.yaml").write_text(CLAIMS_TOO.replace("true", "false"), encoding="utf-8")
    assert index(home) == (0, "changed: claims")
    assert not extracted(home)["extraction.claims"]
    assert extracted(home) == cold(home, corpus)


_OF_RULES = (
    "extraction.noun_phrases",
    "extraction.pipeline",
    "numpy",
    "pipeline version",
    "spacy",
    "thinc",
)
_OF_MODELS = (
    "claims.description",
    "claims.examples",
    "extraction.entity_types",
    "extraction.examples",
    "extraction.gleaning.order",
    "extraction.gleaning.rounds",
    "relation_labels",
)


def _changed(*parts: str) -> str:
    return f"changed: {', '.join(sorted(parts))}"


@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        ({}, "other", "changed: code"),
        ({"extraction": {"dangling": "create"}}, "v", "changed: dangling"),
        ({"claims": {"enabled": True}}, "v", "changed: claims"),
        (
            {"extraction": {"pipeline": "en_core_web_md"}},
            "v",
            "the version of the spaCy pipeline cannot be told",
        ),
        (
            {"extraction": {"pipeline": "not_installed"}},
            "v",
            "the version of the spaCy pipeline cannot be told",
        ),
        (
            {"extraction": {"engine": "llm"}},
            "v",
            _changed("engine", "model of graph_extractor", *_OF_RULES, *_OF_MODELS),
        ),
        (
            {"claims": {"enabled": True, "engine": "llm"}},
            "v",
            _changed("claims", "model of claim_extractor", *_OF_MODELS),
        ),
    ],
)
def test_what_decides_the_result_decides_reuse(
    home: Path, content: dict[str, object], code: str, why: str
) -> None:
    warehouse = Warehouse()
    plain = state_of(CorpusSettings(), "v")
    chunks = chunks_of(["a", "b"])
    frames = made(chunks)
    declared = (
        GLEANED_ENTITIES,
        GLEANED_RELATIONSHIPS,
        tables.CLAIMS,
        tables.UNIT_LEDGER,
        QUARANTINE,
        TYPINGS,
    )
    for table, name in zip(declared, TABLES, strict=True):
        warehouse.write(table, "coast", getattr(frames, name))
    warehouse.write(EXTRACTION_STATE, "coast", plain)
    found, _ = reusable_extraction(warehouse, "coast", CorpusSettings(), plain, set)
    assert found is not None
    assert same(extract_new(chunks, found, made).frames, frames)
    settings = parse_settings(content, "corpus.yaml")
    assert reusable_extraction(warehouse, "coast", settings, state_of(settings, code), set) == (None, why)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as made:
        yield made


def asked_of(endpoint: ScriptedEndpoint) -> int:
    """How often a text was asked about since this was last told."""
    count = sum("source_text" in str(one.body) for one in endpoint.chats)
    endpoint.reset()
    return count


def test_units_read_by_a_model_are_taken_over_with_their_replies(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    folder = write_modelled(home / "corpora", endpoint)
    assert index(home) == (0, "no finished previous result")
    before = units_of(home)
    change_all(folder)
    asked_of(endpoint)
    number, _ = index(home)
    assert 0 < number == len(before & units_of(home)) < len(units_of(home))
    assert asked_of(endpoint)
    found = extracted(home)
    assert found == cold(home, folder)
    assert found["extraction.claims"]
    assert not asked_of(endpoint)


def test_replies_of_units_that_are_taken_over_stay_and_others_go(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    folder = write_modelled(home / "corpora", endpoint)
    index(home)
    change_all(folder)
    index(home)
    memory = CacheMaintenance(LLMCache().database())
    assert memory.prune("coast").replies > 0
    asked_of(endpoint)
    assert index(home) == (len(units_of(home)), "nothing was")
    assert memory.prune("coast").replies == 0
    assert not asked_of(endpoint)


def test_a_unit_whose_reply_was_forgotten_is_asked_about_again(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    write_modelled(home / "corpora", endpoint)
    index(home)
    whole = extracted(home)
    lost = warehouse_of(home).read(tables.UNIT_LEDGER, "coast")["replies"][0][0]
    delete = "delete from replies where key = ?"
    LLMCache().database().write(lambda connection: connection.execute(delete, (bytes.fromhex(lost),)))
    asked_of(endpoint)
    assert index(home) == (len(units_of(home)) - 1, "nothing was")
    assert asked_of(endpoint) == 1
    assert extracted(home) == whole


def test_a_unit_that_lost_a_reply_is_asked_about_again(home: Path) -> None:
    failing = ["Dockers"]

    def faults(_: int, body: dict[str, object]) -> Fault | None:
        asked = "messages" in body and any(word in str(body) for word in failing)
        return Fault(400) if asked else None

    with ScriptedEndpoint(faults=faults) as endpoint:
        write_modelled(home / "corpora", endpoint)
        index(home)
        lost = warehouse_of(home).read(tables.UNIT_LEDGER, "coast").filter(state="quarantined").height
        failing.clear()
        assert index(home) == (len(units_of(home)) - lost, "nothing was")
    assert lost
    assert set(warehouse_of(home).read(tables.UNIT_LEDGER, "coast")["state"]) == {"extracted"}


def test_processes_do_not_matter_and_a_folder_is_known_by_its_files(tmp_path: Path) -> None:
    def state(**own: object) -> pl.DataFrame:
        return state_of(parse_settings({"extraction": own}, "corpus.yaml"), "v")

    assert state(processes=1).equals(state(processes=4))
    (tmp_path / "meta.json").write_text("{}")
    first = state(pipeline=str(tmp_path))
    assert first.equals(state(pipeline=str(tmp_path)))
    (tmp_path / "meta.json").write_text("{ }")
    assert not first.equals(state(pipeline=str(tmp_path)))


def test_a_run_that_was_killed_while_writing_is_not_relied_on(home: Path, corpus: Path) -> None:
    before, warehouse = extracted(home), warehouse_of(home)
    begin_replacing(warehouse, "coast", EXTRACTION_STATE)
    some = warehouse.read(GLEANED_ENTITIES, "coast").head(2)
    warehouse.write(GLEANED_ENTITIES, "coast", some)
    assert index(home) == (0, "no finished previous result")
    assert extracted(home) == before
