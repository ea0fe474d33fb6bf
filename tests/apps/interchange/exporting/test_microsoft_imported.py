from pathlib import Path
from shutil import copyfile
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from graphrag_dagster.apps.interchange.exporting import microsoft_project as lance
from graphrag_dagster.apps.interchange.exporting.graph_export import export
from graphrag_dagster.apps.interchange.exporting.microsoft_project import SCHEMAS
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from support.imported import write_imported

RELATION: dict[str, Any] = {
    "path": "graph.csv",
    "graph": "graph.csv",
    "key": None,
    "label": "led",
    "relation": "led",
    "weight": 1.0,
    "description": "",
    "said": "",
    "text_unit_keys": [],
    "outcome": "read",
    "attributes": "{}",
}


@pytest.mark.long
@pytest.mark.parametrize("project", ["operation_dulce", "verbs_data"])
def test_a_project_of_microsoft_graphrag_comes_back_as_it_was(
    project: str, shared_data: Path, home: Path
) -> None:
    origin, corpus = shared_data / "msft_graphrag" / project, home / "corpora" / "guest"
    corpus.mkdir()
    (corpus / "corpus.yaml").write_text("kind: graph\n")
    for name in SCHEMAS:
        copyfile(origin / f"{name}.parquet", corpus / f"{name}.parquet")
    run_job("guest")
    made = export("guest", "microsoft", home / "out")
    assert all(lance.EXTRA in one for one in made.lacking)
    for name, schema in SCHEMAS.items():
        before = pl.read_parquet(origin / f"{name}.parquet")
        after = pl.read_parquet(made.folder / "output" / f"{name}.parquet")
        assert after.columns == schema.names
        # The column was renamed between two versions, and holds nothing in either.
        assert_frame_equal(after, before.rename({"metadata": "raw_data"}, strict=False))


def test_what_only_relations_name_is_no_entity(home: Path) -> None:
    ends = ("head_key", "tail_key", "head", "tail")
    rows = [
        RELATION | {"row": 1} | dict(zip(ends, ("a", "b", "ANNA", "b"), strict=True)),
        RELATION
        | {"row": 2}
        | dict(zip(ends, ("a", "b", "ANNA", "b"), strict=True))
        | {"outcome": "duplicate"},
        RELATION
        | {"row": 3}
        | dict(zip(ends, ("a", "a", "ANNA", "ANNA"), strict=True))
        | {"outcome": "loop"},
    ]
    entity = {
        "path": "nodes.csv",
        "row": 1,
        "graph": "graph.csv",
        "key": "a",
        "name": "ANNA",
        "title": "Anna",
    }
    entity |= {"type": "PERSON", "description": "", "text_unit_keys": [], "attributes": '{"id": "E7"}'}
    write_imported("guest", {IMPORTED_ENTITIES: [entity], IMPORTED_RELATIONS: rows})
    made = export("guest", "microsoft", home / "out")
    entities = pl.read_parquet(made.folder / "output" / "entities.parquet")
    assert entities.select("id", "title").rows() == [("E7", "Anna")]
    relationships = pl.read_parquet(made.folder / "output" / "relationships.parquet")
    assert relationships.select("source", "target", "description").rows() == [
        ("Anna", "b", "led"),
        ("Anna", "b", "led"),
        ("Anna", "Anna", "led"),
    ]
    assert relationships["id"].n_unique() == 3
