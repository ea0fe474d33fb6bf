from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.assets.asset_checks import BoundsCheck
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, bounds_rules
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import UNIT_LEDGER
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES


def results(settings: CorpusSettings) -> dict[str, dg.AssetCheckResult]:
    warehouse = Warehouse()
    with warehouse.reading("coast") as reader:
        place = CheckedPlace(reader, settings, warehouse)
        return {rule.name: BoundsCheck(rule).result(place) for rule in bounds_rules()}


def test_numbers_of_an_extraction_are_shown_with_their_bounds_and_warn_outside(coast: Path) -> None:
    warehouse = Warehouse()
    ledger = warehouse.read(UNIT_LEDGER, "coast")
    mean = warehouse.read(GLEANED_ENTITIES, "coast").height / ledger.height
    found = results(CorpusSettings())
    assert found["entities_per_unit"].passed
    assert found["entities_per_unit"].metadata["value"].value == pytest.approx(mean, abs=1e-6)
    assert found["quarantined_share"].passed
    assert found["quarantined_share"].metadata["value"].value == 0
    few = results(parse_settings({"extraction": {"expected": {"entities_per_unit": [0, mean / 2]}}}, "x"))
    assert not few["entities_per_unit"].passed
    assert few["entities_per_unit"].severity is dg.AssetCheckSeverity.WARN


def test_a_quarantined_unit_counts_and_nothing_read_is_no_number(coast: Path) -> None:
    warehouse = Warehouse()
    ledger = warehouse.read(UNIT_LEDGER, "coast")
    first = ledger["text_unit_id"][0]
    lost = pl.when(pl.col("text_unit_id") == first).then(pl.lit("quarantined")).otherwise("state")
    warehouse.write(UNIT_LEDGER, "coast", ledger.with_columns(state=lost))
    found = results(CorpusSettings())["quarantined_share"]
    assert not found.passed
    assert found.metadata["value"].value == pytest.approx(1 / ledger.height, abs=1e-6)
    warehouse.write(UNIT_LEDGER, "coast", ledger.clear())
    assert all(one.passed and "value" not in one.metadata for one in results(CorpusSettings()).values())


def test_bounds_are_in_order() -> None:
    with pytest.raises(SettingsError, match="extraction.expected.entities_per_unit"):
        parse_settings({"extraction": {"expected": {"entities_per_unit": [2, 1]}}}, "corpus.yaml")
