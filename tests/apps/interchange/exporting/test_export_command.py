import hashlib
import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.exporting import microsoft_project as lance
from graphrag_dagster.apps.interchange.exporting.export_folder import atomic_export_folder
from graphrag_dagster.apps.interchange.exporting.microsoft_project import SCHEMAS
from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import declared_table
from graphrag_dagster.kernel.text.citations import parse_citations
from support.commands import Run
from support.disks import files_of_at_most


@pytest.mark.parametrize("to", ["microsoft", "graphml", "rdf", "neo4j", "triples", "parquet", "ducklake"])
def test_an_export_tells_what_it_wrote(to: str, coast: Path, home: Path, run: Run) -> None:
    code, told, _ = run("export", "coast", "--to", to, "--json")
    made = json.loads(told)
    folder = home / f"coast-{to}"
    assert (code, made["folder"]) == (0, str(folder))
    manifest = json.loads((folder / "export.json").read_text())
    assert manifest["files"] == made["files"]
    assert manifest["snapshot"] == made["snapshot"]
    for file in made["files"]:
        if "sha256" in file:
            content = (folder / file["path"]).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
        if file["path"].endswith(".parquet"):
            assert pq.read_metadata(folder / file["path"]).num_rows == file["rows"]
    assert not [one for one in home.iterdir() if one.name.endswith(".part")]
    code, shown, _ = run("export", "coast", "--to", to)
    assert code == 0
    assert made["files"][0]["path"] in shown


def test_every_table_is_as_it_is_in_the_snapshot(coast: Path, home: Path) -> None:
    made = export("coast", "parquet", home / "out")
    snapshot = published(Warehouse(), "coast")
    assert snapshot is not None
    with duckdb.connect(str(snapshot.file), read_only=True) as connection:
        for file in made.files:
            schema, name = file.path.removesuffix(".parquet").split("/")
            table = declared_table(f"{schema}.{name}")
            order = ", ".join(table.key)
            before = connection.sql(f"select * exclude (corpus) from {schema}.{name} order by {order}").pl()
            after = pl.read_parquet(home / "out" / file.path)
            assert after.select(before.columns).equals(before)
            assert file.columns.keys() == set(after.columns)


def test_what_microsoft_graphrag_relies_on_holds(coast: Path, home: Path) -> None:
    made = export("coast", "microsoft", home / "out")
    read = {
        name: pl.read_parquet(made.folder / "output" / f"{name}.parquet")
        for name in SCHEMAS
        if name != "covariates"
    }
    entities, edges, communities = read["entities"], read["relationships"], read["communities"]
    reports, units = read["community_reports"], read["text_units"]
    titles, numbers = set(entities["title"]), set(communities["community"])
    assert len(titles) == entities.height
    assert {*edges["source"], *edges["target"]} <= titles
    assert communities["title"].n_unique() == communities.height
    assert communities["children"].null_count() == reports["children"].null_count() == 0
    assert set(communities["parent"]) <= {-1, *numbers}
    assert set(reports["community"]) <= numbers
    children = communities.select("community", "children").explode("children").drop_nulls()
    parents = communities.filter(pl.col("parent") >= 0).select("parent", "community")
    assert sorted(children.rows()) == sorted(parents.rows())
    inside = dict(zip(edges["id"], zip(edges["source"], edges["target"], strict=True), strict=True))
    titled = dict(zip(entities["id"], entities["title"], strict=True))
    for one in communities.iter_rows(named=True):
        members = {titled[entity] for entity in one["entity_ids"]}
        assert len(members) == one["size"]
        within = {one for one, ends in inside.items() if members.issuperset(ends)}
        assert set(one["relationship_ids"]) == within
    # A text unit is cited by its place in the table.
    assert units["human_readable_id"].to_list() == list(range(units.height))
    for unit in units.iter_rows(named=True):
        mentioned = entities.filter(pl.col("text_unit_ids").list.contains(unit["id"]))["id"]
        assert unit["entity_ids"] == mentioned.to_list()
    known = {
        "entity": set(entities["human_readable_id"]),
        "relationship": set(edges["human_readable_id"]),
        "report": numbers,
    }
    cited = [one for text in reports["full_content"] for one in parse_citations(text)]
    assert cited
    assert all(one.id in known[one.kind] for one in cited)
    for report in reports.iter_rows(named=True):
        told = json.loads(report["full_content_json"])
        assert (told["title"], told["findings"]) == (report["title"], report["findings"])


def test_entities_of_one_title_are_told_apart(coast: Path, home: Path) -> None:
    from graphrag_dagster.kernel.storage.published import publish

    warehouse = Warehouse()
    frame = warehouse.read(tables.ENTITIES, "coast").sort("human_readable_id")
    same = frame["title"].to_list()
    same[1] = same[0]
    same[2] = f"{same[0]} (#{frame['human_readable_id'][1]})"
    warehouse.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.Series(same)))
    publish(warehouse, "coast")
    made = export("coast", "microsoft", home / "out")
    titles = pl.read_parquet(made.folder / "output" / "entities.parquet")["title"]
    assert titles.n_unique() == len(titles)


@pytest.mark.skipif(lance.has_lance(), reason="the extra is here")
def test_vectors_need_the_extra(coast: Path, home: Path) -> None:
    made = export("coast", "microsoft", home / "out")
    assert [one for one in made.lacking if lance.EXTRA in one]
    assert lance.EXTRA in (made.folder / "README.md").read_text()
    settings = yaml.safe_load((made.folder / "settings.yaml").read_text())
    assert settings["vector_store"]["vector_size"] == 256
    assert settings["embedding_models"]["default_embedding_model"]["model"] == "coast"


def test_vectors_are_those_of_the_rows(coast: Path, home: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    made = export("coast", "microsoft", home / "out")
    assert not made.lacking
    store = lancedb.connect(made.folder / "output" / "lancedb")
    wanted = {"entity_description": "entities", "community_full_content": "community_reports"}
    for vectors, table in {**wanted, "text_unit_text": "text_units"}.items():
        rows = pl.from_arrow(store.open_table(vectors).to_arrow())
        assert isinstance(rows, pl.DataFrame)
        ids = pl.read_parquet(made.folder / "output" / f"{table}.parquet")["id"]
        assert rows["id"].to_list() == ids.to_list()
        assert rows.schema["vector"] == pl.Array(pl.Float32, 256)


def test_a_folder_of_somebody_else_is_left_alone(coast: Path, home: Path) -> None:
    other = home / "out"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(ExportError, match="no earlier export"):
        export("coast", "graphml", other)
    assert [one.name for one in other.iterdir()] == ["thesis.txt"]


def test_an_earlier_export_is_replaced_and_what_lies_beside_it_stays(coast: Path, home: Path) -> None:
    out = home / "out"
    export("coast", "neo4j", out)
    (out / "notes.txt").write_text("mine")
    export("coast", "graphml", out)
    assert {one.name for one in out.iterdir()} == {"graph.graphml", "export.json", "notes.txt"}
    (out / "graph.graphml").write_text("edited")
    with pytest.raises(ExportError, match="has been changed"):
        export("coast", "graphml", out)
    assert (out / "graph.graphml").read_text() == "edited"


def test_a_manifest_cannot_reach_outside(coast: Path, home: Path) -> None:
    out, outside = home / "out", home / "outside.txt"
    export("coast", "graphml", out)
    outside.write_text("mine")
    told = json.loads((out / "export.json").read_text())
    told["files"].append({"path": "../outside.txt"})
    (out / "export.json").write_text(json.dumps(told))
    with pytest.raises(ExportError, match="outside"):
        export("coast", "graphml", out)
    assert outside.read_text() == "mine"


def test_nothing_is_left_where_an_export_fails(coast: Path, home: Path) -> None:
    before = sorted(home.iterdir())
    with files_of_at_most(2_000), pytest.raises(OSError, match="too large"):
        export("coast", "graphml", home / "out")
    assert sorted(home.iterdir()) == before


def test_what_is_not_published_is_not_exported(home: Path, run: Run) -> None:
    code, _, told = run("export", "nothing", "--to", "rdf")
    assert code == 1
    assert "index" in told


def test_a_file_of_somebody_else_is_never_replaced(coast: Path, home: Path) -> None:
    out = home / "out"
    export("coast", "triples", out)
    mine = {"graph.graphml": "mine", "notes.txt": "mine too"}
    for name, text in mine.items():
        (out / name).write_text(text)
    before = sorted(out.rglob("*"))
    with pytest.raises(ExportError, match=r"graph.graphml is no file of an earlier export, and stays"):
        export("coast", "graphml", out)
    assert sorted(out.rglob("*")) == before
    (out / "graph.graphml").unlink()
    (out / "output").write_text("mine")
    with pytest.raises(ExportError, match="output is no file of an earlier export"):
        export("coast", "microsoft", out)
    assert (out / "output").read_text() == "mine"


@pytest.mark.parametrize("before", ["nothing", "graphml", "neo4j"])
@pytest.mark.parametrize("moved", [0, 1, 2])
def test_after_a_kill_the_next_export_goes_on(
    before: str, moved: int, coast: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = home / "out"
    out.mkdir()
    if before != "nothing":
        export("coast", before, out)
    whole = export("coast", "neo4j", home / "whole")
    left, replace = [moved + 1], Path.replace

    def killed(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            # As if the process had ended here.
            raise KeyboardInterrupt
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            export("coast", "neo4j", out)
    assert export("coast", "neo4j", out).files == whole.files
    assert {one.name for one in out.iterdir()} == {one.name for one in (home / "whole").iterdir()}


def test_a_table_that_is_a_folder_is_replaced_unless_it_was_changed(tmp_path: Path) -> None:
    def write(text: str) -> None:
        with atomic_export_folder(tmp_path / "out", {}) as made:
            made.place("vectors.lance/data/0.lance").write_text(text)
            made.note("vectors.lance", 1)

    write("one")
    write("two")
    (tmp_path / "out/vectors.lance/data/1.lance").write_text("mine")
    with pytest.raises(ExportError, match="has been changed"):
        write("three")
    assert (tmp_path / "out/vectors.lance/data/1.lance").read_text() == "mine"
    assert (tmp_path / "out/vectors.lance/data/0.lance").read_text() == "two"
