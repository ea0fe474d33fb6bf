"""Dagster's asset checks: the rules that every table must pass before anything is built on it."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    MetadataValue,
    PreviewWarning,
)

from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, rules, violations
from graphrag_dagster.kernel.tables import Table

#: Of every check: each asset has one.
NAME = "valid"
_MOST_SHOWN = 20
_DECLARED = "Keys are unique, required values are not null, every reference resolves"


@dataclass(frozen=True, slots=True)
class AssetCheck:
    """All that must hold of a table that is an asset, and of those that it answers for."""

    table: Table
    side_tables: Sequence[Table] = ()

    @property
    def key(self) -> AssetCheckKey:
        """Under which Dagster knows it."""
        return AssetCheckKey(AssetKey(self.table.asset_key), NAME)

    def spec(self) -> AssetCheckSpec:
        """Result reported to Dagster."""
        told = [rule.description for rule in rules() if rule.table in (self.table, *self.side_tables)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreviewWarning)
            return AssetCheckSpec(
                NAME,
                asset=self.key.asset_key,
                description=". ".join([_DECLARED, *told]),
                blocking=True,
                # Per corpus: otherwise one corpus's pass would hide another's failure.
                partitions_def=CORPUS,
            )

    def result(self, place: CheckedPlace) -> AssetCheckResult:
        """Look whether it holds there; where only rules are broken that do not block, it warns."""
        found = [one for table in (self.table, *self.side_tables) for one in self._problems(table, place)]
        problems = [problem for problem, _ in found]
        shown = "\n".join(f"- {problem}" for problem in problems[:_MOST_SHOWN]) or "none"
        blocks = any(blocking for _, blocking in found)
        return AssetCheckResult(
            check_name=NAME,
            asset_key=self.key.asset_key,
            passed=not problems,
            severity=AssetCheckSeverity.ERROR if blocks else AssetCheckSeverity.WARN,
            metadata={"count": len(problems), "problems": MetadataValue.text(printable(shown))},
        )

    def _problems(self, table: Table, place: CheckedPlace) -> Iterator[tuple[str, bool]]:
        where = "" if table == self.table else f"{table.full_name}: "
        if place.reader.counts([table])[table]:
            yield from ((f"{where}{one}", True) for one in violations(place.reader, table))
        for rule in rules():
            if rule.table == table:
                # What stops the run is shown first.
                yield from ((f"{where}{one}", rule.blocking) for one in rule.problems(place))
