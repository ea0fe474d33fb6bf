"""The ledger of extraction: every text unit in exactly one state, every record counted."""

import polars as pl

_COUNTED = {
    "entities": "gleaned_entities",
    "relationships": "gleaned_relationships",
    "claims": "claims",
    "quarantined": "quarantine",
}


#: States of units that gave nothing, though they hold text.
_LOST = ("quarantined", "unreadable")


def unreadable_units(unit_ledger: pl.DataFrame) -> list[str]:
    """Return how many units were not read, a line for each reason."""
    return _by_reason(unit_ledger.filter(state="unreadable"), unit_ledger.height)


def nothing_read(unit_ledger: pl.DataFrame) -> list[str]:
    """Return why nothing at all could be read, a line for each reason; empty where any unit was."""
    lost = unit_ledger.filter(pl.col("state").is_in(_LOST))
    return _by_reason(lost, unit_ledger.height) if 0 < lost.height == unit_ledger.height else []


def _by_reason(units: pl.DataFrame, every: int) -> list[str]:
    counted = units.group_by("state", "reason").len().sort(["len", "reason"], descending=[True, False])
    of = f"{every:,} text unit{'' if every == 1 else 's'}"
    return [f"{count:,} of {of} {state}: {reason}" for state, reason, count in counted.rows()]


def check_ledger(
    *,
    text_chunks: pl.DataFrame,
    unit_ledger: pl.DataFrame,
    gleaned_entities: pl.DataFrame,
    gleaned_relationships: pl.DataFrame,
    claims: pl.DataFrame,
    quarantine: pl.DataFrame,
) -> list[str]:
    """Return what is wrong with the ledger; empty where every unit and every record is accounted for."""
    tables = {
        "gleaned_entities": gleaned_entities,
        "gleaned_relationships": gleaned_relationships,
        "claims": claims,
        "quarantine": quarantine,
    }
    units, listed = text_chunks.select("text_unit_id"), unit_ledger.select("text_unit_id")
    problems = [
        f"unit {u} is missing from the ledger"
        for u in units.join(listed, on="text_unit_id", how="anti")["text_unit_id"]
    ]
    problems += [
        f"{u} is in the ledger but is not a unit"
        for u in listed.join(units, on="text_unit_id", how="anti")["text_unit_id"]
    ]
    problems += [
        f"unit {u} is in the ledger twice"
        for u in listed.filter(listed.is_duplicated()).unique()["text_unit_id"]
    ]
    for column, name in _COUNTED.items():
        counted = tables[name].group_by("text_unit_id").len(name="found")
        both = unit_ledger.select("text_unit_id", column).join(counted, on="text_unit_id", how="left")
        wrong = both.filter(pl.col(column) != pl.col("found").fill_null(0))
        problems += [
            f"unit {unit}: the ledger says {said} {column}, but the table {name} contains {found or 0}"
            for unit, said, found in wrong.rows()
        ]
    explained = pl.col("state").is_in(["empty", *_LOST])
    silent = unit_ledger.filter(explained & pl.col("reason").is_null())
    return problems + [
        f"unit {unit} is {state} without a reason" for unit, state in silent["text_unit_id", "state"].rows()
    ]
