"""Dagster asset checks: the rules that a table must pass before anything is built on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
)

from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, rules, violations
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.dagster_keys import CORPUS, asset_key

#: Name of the check that each asset has.
NAME = "valid"
_DECLARED = "Keys are unique, required values are not null, every reference resolves"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a table: in words, which may quote it, and the rule that it breaks."""

    text: str
    rule: str
    blocking: bool


@dataclass(frozen=True, slots=True)
class AssetCheck:
    """The check of an asset table and of the tables it is also responsible for."""

    table: Table
    side_tables: Sequence[Table] = ()

    @property
    def key(self) -> AssetCheckKey:
        """The check's key in Dagster."""
        return AssetCheckKey(asset_key(self.table), NAME)

    def spec(self) -> AssetCheckSpec:
        """Return the check's specification for Dagster."""
        descriptions = [rule.description for rule in rules() if rule.table in (self.table, *self.side_tables)]
        return AssetCheckSpec(
            NAME,
            asset=self.key.asset_key,
            description=". ".join([_DECLARED, *descriptions]),
            blocking=True,
            # Per corpus: otherwise one corpus's pass would hide another's failure.
            partitions_def=CORPUS,
        )

    def result(self, place: CheckedPlace) -> AssetCheckResult:
        """Run the check; violations of non-blocking rules alone are a warning.

        What is wrong may quote the corpus, so Dagster is told how often and against which rules.
        """
        problems = self.problems(place)
        rules_broken = ". ".join(dict.fromkeys(problem.rule for problem in problems))
        blocks = any(problem.blocking for problem in problems)
        return AssetCheckResult(
            check_name=NAME,
            asset_key=self.key.asset_key,
            passed=not problems,
            severity=AssetCheckSeverity.ERROR if blocks else AssetCheckSeverity.WARN,
            description=rules_broken or None,
            metadata={"problems": len(problems)},
        )

    def problems(self, place: CheckedPlace) -> list[Problem]:
        """Return all that is wrong; what stops a run comes first."""
        return [
            problem for table in (self.table, *self.side_tables) for problem in self._problems(table, place)
        ]

    def _problems(self, table: Table, place: CheckedPlace) -> Iterator[Problem]:
        where = "" if table == self.table else f"{table.full_name}: "
        if place.reader.counts([table])[table]:
            for problem in violations(place.reader, table):
                yield Problem(f"{where}{problem}", f"{where}{problem}", blocking=True)
        for rule in rules():
            if rule.table == table:
                for problem in rule.problems(place):
                    yield Problem(f"{where}{problem}", rule.description, blocking=rule.blocking)
