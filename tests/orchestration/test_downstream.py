"""The examples of the page on existing projects, as they are printed there."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS
from graphrag_dagster.kernel.storage.home import HomeFolders
from graphrag_dagster.orchestration.composition import compose

PAGE = Path(__file__).parents[2] / "docs" / "dagster_project.md"


def printed() -> Mapping[str, Any]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block.replace('"harbour"', '"coast"'), names)  # noqa: S102 - it is our page.
    return names


def run(indexed: Path, asset: dg.AssetsDefinition, **options: Any) -> dg.ExecuteInProcessResult:
    defs = dg.Definitions.merge(compose(HomeFolders.below(indexed)), dg.Definitions(assets=[asset]))
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={asset.key})
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), ["coast"])
        return job.execute_in_process(instance=instance, **options)


def test_an_asset_without_partitions_reads_all_corpora(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["people"]).output_for_node("people")
    assert {"Hanna Quill", "Orrin Vask"} <= set(made)


def test_an_asset_with_other_partitions_reads_one_corpus(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["most_mentioned"], partition_key="2026-02-01")
    assert made.output_for_node("most_mentioned") == "Skerry Point"


def test_an_asset_asks_what_is_published(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["briefing"])
    assert len(made.output_for_node("briefing")) > 20


def test_an_asset_with_our_partitions_reads_its_own_corpus(indexed_home: Path, home: Path) -> None:
    @dg.asset(partitions_def=CORPUS, ins={"entities": dg.AssetIn(["graph", "entities"])})
    def counted(entities: pl.DataFrame) -> int:
        return entities.height

    assert run(indexed_home, counted, partition_key="coast").output_for_node("counted") > 5


def test_several_corpora_are_not_read_as_one_frame(indexed_home: Path, home: Path) -> None:
    @dg.asset(ins={"entities": dg.AssetIn(["graph", "entities"])})
    def counted(entities: pl.DataFrame) -> int:
        return entities.height

    defs = dg.Definitions.merge(compose(HomeFolders.below(indexed_home)), dg.Definitions(assets=[counted]))
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={counted.key})
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), ["coast", "shore"])
        with pytest.raises(WarehouseError, match=r"2 corpora .* dict\[str, polars.DataFrame\]"):
            job.execute_in_process(instance=instance)
