"""Dagster asset checks: the rules that a table must pass before anything is built on it."""

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
from graphrag_dagster.kernel.pipeline.table_checks import BoundsRule, CheckedPlace, rules, violations
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.dagster_keys import CORPUS

#: Name of the check that each asset has.
NAME = "valid"
_MOST_SHOWN = 20
_DECLARED = "Keys are unique, required values are not null, every reference resolves"


@dataclass(frozen=True, slots=True)
class AssetCheck:
    """The check of an asset table and of the tables it is also responsible for."""

    table: Table
    side_tables: Sequence[Table] = ()

    @property
    def key(self) -> AssetCheckKey:
        """The check's key in Dagster."""
        return AssetCheckKey(AssetKey(self.table.asset_key), NAME)

    def spec(self) -> AssetCheckSpec:
        """Return the check's specification for Dagster."""
        descriptions = [rule.description for rule in rules() if rule.table in (self.table, *self.side_tables)]
        return _spec(self.key, ". ".join([_DECLARED, *descriptions]), blocking=True)

    def result(self, place: CheckedPlace) -> AssetCheckResult:
        """Run the check; violations of non-blocking rules alone are a warning."""
        results = [
            result for table in (self.table, *self.side_tables) for result in self._problems(table, place)
        ]
        problems = [problem for problem, _ in results]
        shown = "\n".join(f"- {problem}" for problem in problems[:_MOST_SHOWN]) or "none"
        blocks = any(blocking for _, blocking in results)
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
            yield from ((f"{where}{problem}", True) for problem in violations(place.reader, table))
        for rule in rules():
            if rule.table == table:
                # Problems that stop the run come first.
                yield from ((f"{where}{problem}", rule.blocking) for problem in rule.problems(place))


@dataclass(frozen=True, slots=True)
class BoundsCheck:
    """The check that a number of a table lies within bounds; nothing waits for it."""

    rule: BoundsRule

    @property
    def key(self) -> AssetCheckKey:
        """The check's key in Dagster."""
        return AssetCheckKey(AssetKey(self.rule.table.asset_key), self.rule.name)

    def spec(self) -> AssetCheckSpec:
        """Return the check's specification for Dagster."""
        return _spec(self.key, self.rule.description, blocking=False)

    def result(self, place: CheckedPlace) -> AssetCheckResult:
        """Measure the number; out of bounds it is a warning."""
        passed, numbers = self.rule.measured(place)
        return AssetCheckResult(
            check_name=self.key.name,
            asset_key=self.key.asset_key,
            passed=passed,
            severity=AssetCheckSeverity.WARN,
            metadata=numbers,
        )


def _spec(key: AssetCheckKey, description: str, *, blocking: bool) -> AssetCheckSpec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreviewWarning)
        return AssetCheckSpec(
            key.name,
            asset=key.asset_key,
            description=description,
            blocking=blocking,
            # Per corpus: otherwise one corpus's pass would hide another's failure.
            partitions_def=CORPUS,
        )
