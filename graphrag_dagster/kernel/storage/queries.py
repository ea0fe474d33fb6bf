"""A query over the tables of a snapshot, and its rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its meaning in words.

    Attributes:
        template: name of its template; None if a model wrote it.
        reading: how the question was interpreted.
        sql: one select statement.
        parameters: values of its ``$names``.
    """

    template: str | None
    reading: str
    sql: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def display_text(self) -> str:
        """The query for display, with its parameters as a comment in the last line."""
        parameters = json.dumps(self.parameters, ensure_ascii=False)
        return f"{self.sql}\n-- {parameters}" if self.parameters else self.sql


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The first rows of a query result by column; ``more``: whether there are others."""

    rows: tuple[Mapping[str, Any], ...]
    more: bool = False
