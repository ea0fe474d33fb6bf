from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.assets.asset_checks import AssetCheck
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import UNIT_LEDGER
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES


def problems(settings: CorpusSettings) -> list[str]:
    """What the check of the ledger finds, none of which stops a run."""
    warehouse, check = Warehouse(), AssetCheck(UNIT_LEDGER)
    with warehouse.reading("coast") as reader:
        place = CheckedPlace(reader, settings, warehouse)
        found = [problem.text for problem in check.problems(place)]
        result = check.result(place)
    assert result.passed == (not found)
    assert result.severity is dg.AssetCheckSeverity.WARN
    return found


def test_an_extraction_warns_outside_of_what_is_expected(coast: Path) -> None:
    warehouse = Warehouse()
    mean = warehouse.read(GLEANED_ENTITIES, "coast").height / warehouse.read(UNIT_LEDGER, "coast").height
    assert problems(CorpusSettings()) == []
    few = parse_settings({"extraction": {"expected": {"entities_per_unit": [0, mean / 2]}}}, "x")
    assert problems(few) == [f"{mean:.3g} entities a text unit, not 0 to {mean / 2:g}"]


def test_more_quarantined_units_than_expected_warn(coast: Path) -> None:
    warehouse = Warehouse()
    ledger = warehouse.read(UNIT_LEDGER, "coast")
    first = ledger["text_unit_id"][0]
    lost = pl.when(pl.col("text_unit_id") == first).then(pl.lit("quarantined")).otherwise("state")
    warehouse.write(UNIT_LEDGER, "coast", ledger.with_columns(state=lost))
    told = f"1 of {ledger.height} text units are quarantined, more than "
    allowed = parse_settings({"extraction": {"expected": {"quarantined": 1}}}, "x")

    def of_share(settings: CorpusSettings) -> list[str]:
        with warehouse.reading("coast") as reader:
            place = CheckedPlace(reader, settings, warehouse)
            return [one.text for one in AssetCheck(UNIT_LEDGER).problems(place) if one.text.startswith(told)]

    assert of_share(CorpusSettings()) == [f"{told}2.0%"]
    assert of_share(allowed) == []


def test_bounds_are_in_order() -> None:
    with pytest.raises(SettingsError, match="extraction.expected.entities_per_unit"):
        parse_settings({"extraction": {"expected": {"entities_per_unit": [2, 1]}}}, "corpus.yaml")
