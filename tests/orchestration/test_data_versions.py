import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.assets.step_assets import assets_of
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.component import compose
from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.resources.dagster_keys import CORPUS
from graphrag_dagster.resources.io_manager import data_version

TABLE = tables.TEXT_UNIT_EMBEDDINGS
DATA_VERSION = "dagster/data_version"


def unit(identity: str, text: str) -> dict[str, object]:
    return {
        "text_unit_id": identity, "human_readable_id": 1, "document_id": "d", "position": 0, "start_char": 0,
        "end_char": len(text), "text": text, "tokens": 3, "encoding": "cl100k_base", "strategy": "tokens",
    }  # fmt: skip


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=8), st.randoms())
def test_the_order_of_rows_and_columns_is_nothing_and_the_content_is_all(
    texts: dict[str, str], chance: random.Random
) -> None:
    table = tables.TEXT_CHUNKS
    rows = [unit(identity, text) for identity, text in texts.items()]
    first = data_version(table, table.frame(rows))
    columns = list(table.column_names)
    chance.shuffle(rows)
    chance.shuffle(columns)
    shuffled = pl.DataFrame(rows, schema=table.empty().schema) if rows else table.empty()
    assert data_version(table, shuffled.select(columns)) == first
    if rows:
        rows[0]["text"] = f"{rows[0]['text']}."
        assert data_version(table, table.frame(rows)) != first


def test_a_vector_counts() -> None:
    key = TABLE.key[0]

    def version(*numbers: float) -> dg.DataVersion:
        vector = pl.Series("vector", [list(numbers)], dtype=pl.Array(pl.Float32, len(numbers)))
        return data_version(TABLE, pl.DataFrame({key: ["u"], "embedder": ["static"]}).with_columns(vector))

    assert version(0.1, 0.2) == version(0.1, 0.2)
    assert version(0.1, 0.2) != version(0.1, 0.3)


def test_every_asset_of_an_index_has_one_and_a_second_run_the_same(coast: Path, home: Path) -> None:
    def versions() -> dict[str, str]:
        with dg.DagsterInstance.from_config(str(home / ".dagster_home")) as instance:
            events = {
                key: instance.get_latest_materialization_event(key)
                for key in defs.resolve_job_def("index").asset_layer.executable_asset_keys
            }
        return {
            key.to_user_string(): event.asset_materialization.tags[DATA_VERSION]
            for key, event in events.items()
        }

    first = versions()
    run_job("coast")
    second = versions()
    assert second == first
    assert len(set(first.values())) > len(first) - 8


def test_nobody_who_makes_a_table_hears_what_dagster_calls_beta(home: Path) -> None:
    def files(_tables: Tables, run: StepRun) -> Iterator[Made]:
        yield Made(tables.FILES, tables.FILES.empty())

    stage = Step("files", files, assets={tables.FILES: ()})
    resources = compose().resources or {}
    with dg.DagsterInstance.ephemeral() as instance, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        instance.add_dynamic_partitions(CORPUS.name or "", ["coast"])
        (home / "corpora" / "coast").mkdir()
        made = [assets_of(stage, frozenset())]
        assert dg.materialize(made, partition_key="coast", resources=resources, instance=instance).success
    assert [one.message for one in told if issubclass(one.category, dg.BetaWarning | dg.PreviewWarning)] == []
