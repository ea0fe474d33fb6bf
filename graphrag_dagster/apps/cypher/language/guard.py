"""The guard: a Cypher query passes as one that only reads, with bounds, or not at all."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.apps.cypher.language.cypher_expressions import Expressions
from graphrag_dagster.apps.cypher.language.cypher_functions import Dialect
from graphrag_dagster.errors import QueryError
from graphrag_dagster.kernel.questions.context.index_snapshot import LONGEST_PATH, MOST_ROWS

#: Nodes and relations of all patterns of a query.
_MOST_PARTS = 40
_SHORTEST = {"SHORTESTPATH": "shortestPath", "ALLSHORTESTPATHS": "allShortestPaths"}
_EMBEDDED_SHORTEST = {"": "TRAIL", "shortestPath": "SHORTEST", "allShortestPaths": "ALL SHORTEST"}


class Patterns(Expressions):
    """Reads patterns beside expressions; see :class:`.Expressions`."""

    _parts = 0

    def _patterns(self) -> str:
        return ", ".join(self._several(self._pattern))

    def _pattern(self) -> str:
        variable = ""
        if self._next.kind in {"name", "quoted"} and self._words[self._at + 1].upper == "=":
            variable = f"{self._name('a path')} = "
            self._take("=")
        shortest = _SHORTEST.get(self._next.upper, "")
        if not shortest:
            return variable + self._path()
        self._at += 1
        self._take("(")
        path = self._path(shortest)
        self._take(")")
        # The embedded engine says beside the relation which paths are meant.
        return variable + (path if self._dialect == "embedded" else f"{shortest}({path})")

    def _path(self, shortest: str = "") -> str:
        written = self._node()
        while self._ahead("<", "-") or self._ahead("-"):
            written += self._relation(shortest) + self._node()
        return written

    def _counted(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise QueryError(f"the patterns of the query have more than {_MOST_PARTS} nodes and relations")

    def _node(self) -> str:
        self._counted()
        self._take("(")
        written = self._inside("a label")
        self._take(")")
        return f"({written})"

    def _inside(self, what: str, *, ranged: str | None = None) -> str:
        """Variable, labels or types, lengths and properties, all of which may be missing."""
        word = self._next
        written = self._name("a variable") if word.kind == "quoted" or word.kind == "name" else ""
        if self._taken(":"):
            named = [self._name(what, keywords=True)]
            while self._taken("|"):
                self._taken(":")
                named.append(self._name(what, keywords=True))
            if self._ahead(":"):
                raise self._wrong("one label, or several joined by |; not ':'")
            written += f":{'|'.join(named)}"
        if ranged is not None and self._taken("*"):
            written += self._lengths(ranged)
        if self._taken("{", "}"):
            return written
        if self._ahead("{"):
            written += f" {self._map()}"
        return written

    def _relation(self, shortest: str) -> str:
        self._counted()
        left = self._taken("<")
        self._take("-")
        inside = ""
        if self._taken("["):
            inside = f"[{self._inside('a type', ranged=shortest)}]"
            self._take("]")
        self._take("-")
        right = self._taken(">")
        if left and right:
            raise self._wrong("a relation leads one way, or either: leave out < or >")
        return f"{'<' if left else ''}-{inside}-{'>' if right else ''}"

    def _lengths(self, shortest: str) -> str:
        least = self._whole()
        most = least
        if self._taken(".."):
            most = self._whole()
        if most is None or most > LONGEST_PATH:
            raise self._wrong(f"a path of any length needs a bound of at most {LONGEST_PATH}, such as *1..3")
        if least is not None and least > most:
            raise self._wrong(f"a path cannot have from {least} to {most} relations")
        lengths = f"{1 if least is None else least}..{most}"
        # A relation comes once in a path, as it does in openCypher.
        return f"* {_EMBEDDED_SHORTEST[shortest]} {lengths}" if self._dialect == "embedded" else f"*{lengths}"

    def _in_brackets(self) -> str:
        """An expression in brackets, or a pattern as a condition: that there is such a path."""
        return self._path() if self._begins_path() else super()._in_brackets()

    def _begins_path(self) -> bool:
        depth = 0
        for place in range(self._at, len(self._words)):
            sign = self._words[place].upper
            depth += (sign in {"(", "{", "["}) - (sign in {")", "}", "]"})
            if depth == 0:
                after = [word.upper for word in self._words[place + 1 : place + 4]]
                return after[:2] in (["-", "["], ["-", "-"]) or after in (["<", "-", "["], ["<", "-", "-"])
        return False


#: Characters of a query, and of its parameters.
LONGEST_QUERY, _LONGEST_PARAMETERS = 4_000, 100_000
#: Clauses that read; all else is refused.
CLAUSES = (
    "MATCH",
    "OPTIONAL MATCH",
    "WHERE",
    "WITH",
    "UNWIND",
    "RETURN",
    "ORDER BY",
    "SKIP",
    "LIMIT",
    "UNION",
)
_MOST_CLAUSES = 30
_MOST_INTEGER = 2**63
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Guarded:
    """A query that may be run.

    Attributes:
        text: as it was written anew.
        parameters: values of its ``$names``.
        columns: of what it returns, as the query has them; none where it returns all (``*``).
        most: rows that it returns at most.
        capped: the query asked for more rows than that, or did not say how many.
    """

    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    most: int = MOST_ROWS
    capped: bool = False


def guard_query(
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    dialect: Dialect = "embedded",
    most: int = MOST_ROWS,
) -> Guarded:
    """Return a query as it may be run.

    Args:
        query: one query in openCypher that only reads.
        parameters: values of its ``$names``: texts, numbers, true, false, null, lists of one kind.
        dialect: of the engine.
        most: rows that it may return; put on where the query has no ``LIMIT``, or a larger one.

    Raises:
        QueryError: it is refused; says why.
    """
    if len(query) > LONGEST_QUERY:
        raise QueryError(f"a query has at most {LONGEST_QUERY:,} characters, not {len(query):,}")
    if _HALVES.search(query):
        raise QueryError("the query holds half of a surrogate pair, which is not a character")
    given = dict(parameters or {})
    _check(given)
    return _Clauses(query, given, dialect, most).read()


def _check(parameters: Mapping[str, Any]) -> None:
    size = 0
    for name, value in parameters.items():
        inner = value if isinstance(value, list) else [value]
        if not all(one is None or isinstance(one, str | bool | int | float) for one in inner):
            raise QueryError(f"the parameter {name} is no text, number, true, false, null or list of these")
        if any(_HALVES.search(one) for one in (name, *inner) if isinstance(one, str)):
            raise QueryError(f"the parameter {name} holds half of a surrogate pair, which is not a character")
        if any(isinstance(one, float) and not math.isfinite(one) for one in inner):
            raise QueryError(f"the parameter {name} is NaN or infinite")
        if isinstance(value, list) and len({type(one) for one in value if one is not None}) > 1:
            raise QueryError(f"the parameter {name} is a list of different kinds of values")
        if any(isinstance(one, int) and not -_MOST_INTEGER <= one < _MOST_INTEGER for one in inner):
            raise QueryError(f"the parameter {name} does not fit into 64 bits")
        size += sum(len(one) if isinstance(one, str) else 8 for one in inner)
    if size > _LONGEST_PARAMETERS:
        raise QueryError(f"the parameters have more than {_LONGEST_PARAMETERS:,} characters")


class _Clauses(Patterns):
    def __init__(self, query: str, given: Mapping[str, Any], dialect: Dialect, most: int) -> None:
        super().__init__(query, given, dialect)
        self._most = most
        self._clauses = 0
        self._capped = False

    def read(self) -> Guarded:
        """The whole query, written anew."""
        columns, written = self._part()
        while self._taken("UNION"):
            every = " ALL" if self._taken("ALL") else ""
            written = f"{written} UNION{every} {self._part()[1]}"
        self._taken(";")
        if self._next.kind != "end":
            raise self._refusal()
        return Guarded(written, self.parameters, columns, self._most, self._capped)

    def _refusal(self) -> QueryError:
        if self._words[self._at - 1].upper == ";":
            return self._wrong("one query at a time; there is another")
        return QueryError(
            f"{self._next.shown} at character {self._next.start + 1:,} of the query is not allowed there: "
            f"it can only read, with {', '.join(CLAUSES)}"
        )

    def _part(self) -> tuple[tuple[str, ...], str]:
        """What stands between ``UNION``: its columns, and the clauses."""
        clauses: list[str] = []
        while True:
            self._clauses += 1
            if self._clauses > _MOST_CLAUSES:
                raise QueryError(f"the query has more than {_MOST_CLAUSES} clauses")
            if self._taken("MATCH"):
                clauses.append(f"MATCH {self._patterns()}{self._where()}")
            elif self._taken("OPTIONAL", "MATCH"):
                clauses.append(f"OPTIONAL MATCH {self._patterns()}{self._where()}")
            elif self._taken("UNWIND"):
                values = self._expression()
                self._take("AS")
                clauses.append(f"UNWIND {values} AS {self._name('a variable')}")
            elif self._taken("WITH"):
                clauses.append(f"WITH {self._projection()[1]}{self._where()}")
            elif self._taken("RETURN"):
                columns, written = self._projection(last=True)
                return columns, " ".join([*clauses, f"RETURN {written}"])
            elif self._next.kind == "end":
                raise QueryError("the query returns nothing: end it with RETURN")
            else:
                raise self._refusal()

    def _where(self) -> str:
        return f" WHERE {self._expression()}" if self._taken("WHERE") else ""

    def _projection(self, *, last: bool = False) -> tuple[tuple[str, ...], str]:
        """What ``WITH`` and ``RETURN`` hand on: the columns, and all that follows the keyword."""
        columns: tuple[str, ...] = ()
        written = "DISTINCT " if self._taken("DISTINCT") else ""
        if self._taken("*"):
            written += "*"
        else:
            items = [self._item()]
            while self._taken(","):
                items.append(self._item())
            columns = tuple(name for name, _ in items)
            written += ", ".join(item for _, item in items)
        if self._taken("ORDER", "BY"):
            written += f" ORDER BY {', '.join(self._several(self._ordering))}"
        if self._taken("SKIP"):
            written += f" SKIP {self._number('SKIP')}"
        if self._taken("LIMIT"):
            limit = self._number("LIMIT")
            self._capped |= last and limit > self._most
            written += f" LIMIT {min(limit, self._most) if last else limit}"
        elif last:
            self._capped = True
            written += f" LIMIT {self._most}"
        return columns, written

    def _item(self) -> tuple[str, str]:
        start = self._next.start
        written = self._expression()
        named = self._query[start : self._words[self._at - 1].end]
        if self._taken("AS"):
            name = self._name("a column")
            (self._lists.add if self._is_list(written) else self._lists.discard)(name)
            return name[1:-1], f"{written} AS {name}"
        return " ".join(named.split()).replace("`", ""), written

    def _ordering(self) -> str:
        written = self._expression()
        if self._taken("DESC") or self._taken("DESCENDING"):
            return f"{written} DESC"
        if not self._taken("ASC"):
            self._taken("ASCENDING")
        return written

    def _number(self, clause: str) -> int:
        """A whole number of rows, also as a parameter."""
        if self._next.kind == "parameter":
            value = self._given.get(self._next.value)
            self._at += 1
        else:
            value = self._whole()
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(f"{clause} needs a whole number, or a parameter that is one,")
        return value
