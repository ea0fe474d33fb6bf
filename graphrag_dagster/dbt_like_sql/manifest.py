"""What was found out about the SQL models when this package was written, so that no start has to again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphrag_dagster.dbt_like_sql.loader import SqlModel

#: Columns of a model → the (``schema.table``, column) pairs that each is computed from.
Lineage = Mapping[str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Manifest:
    """Models that fit the declared tables, by their fingerprints, with the lineage of their columns.

    A model that is not here has changed since, or is not one of this package's; it is proven at the start.
    """

    lineage: Mapping[str, Lineage] = field(default_factory=dict)

    @classmethod
    def at(cls, file: Path) -> "Manifest":
        """Read it; without a file, no model is proven."""
        if not file.is_file():
            return cls()
        told: dict[str, dict[str, list[list[str]]]] = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            {
                fingerprint: {
                    column: [(table, name) for table, name in sources] for column, sources in columns.items()
                }
                for fingerprint, columns in told.items()
            }
        )

    @classmethod
    def of(cls, models: Iterable["SqlModel"]) -> "Manifest":
        """Trace every column of some models that were proven."""
        return cls({model.fingerprint: model.traced() for model in models})

    def text(self) -> str:
        """Return it as the file has it."""
        return json.dumps(self.lineage, indent=1, sort_keys=True) + "\n"
