"""Expressions of a query: each is read, and written anew."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from graphrag_dagster.core.cypher.functions import FUNCTIONS, Dialect, called
from graphrag_dagster.core.cypher.lexing import Word, words
from graphrag_dagster.core.search.context.queries import QueryError

#: Expressions inside of each other.
_DEEPEST = 20
_COMPARING = {"=", "<>", "<", "<=", ">", ">="}
_QUANTIFIERS = {"ALL", "ANY", "NONE", "SINGLE"}
_SUBQUERIES = {"CALL", "COLLECT", "COUNT", "EXISTS"}
#: Words that are no names of variables unless they stand in backticks.
_KEYWORDS = frozenset(
    {
        *(
            "ALL",
            "AND",
            "AS",
            "ASC",
            "ASCENDING",
            "BY",
            "CALL",
            "CASE",
            "CONTAINS",
            "CREATE",
            "DELETE",
            "DESC",
        ),
        *(
            "DESCENDING",
            "DETACH",
            "DISTINCT",
            "ELSE",
            "END",
            "ENDS",
            "EXISTS",
            "FALSE",
            "FOREACH",
            "IN",
            "IS",
        ),
        *("LIMIT", "LOAD", "MATCH", "MERGE", "NOT", "NULL", "ON", "OPTIONAL", "OR", "ORDER", "REMOVE"),
        *("RETURN", "SET", "SKIP", "STARTS", "THEN", "TRUE", "UNION", "UNWIND", "USE", "USING", "WHEN"),
        *("WHERE", "WITH", "XOR", "YIELD"),
    }
)


class Expressions:
    """Reads expressions, and writes them with their literals as parameters.

    Args:
        query: the text.
        given: parameters that come with it.
        dialect: of the engine that is to run it.

    Raises:
        QueryError: here and from each method: the query has what is not allowed; says what, and where.
    """

    def __init__(self, query: str, given: Mapping[str, Any], dialect: Dialect) -> None:
        self._query = query
        self._words = list(words(query))
        self._at = 0
        self._depth = 0
        self._given = given
        self._dialect = dialect
        self._names: dict[tuple[str, object], str] = {}
        self.parameters: dict[str, Any] = {}

    # What stands next.

    @property
    def _next(self) -> Word:
        return self._words[self._at]

    def _ahead(self, *signs: str) -> bool:
        """Whether these keywords and signs come next."""
        following = self._words[self._at : self._at + len(signs)]
        return [word.upper for word in following] == list(signs)

    def _taken(self, *signs: str) -> bool:
        """Pass over these keywords and signs if they come next."""
        if not self._ahead(*signs):
            return False
        self._at += len(signs)
        return True

    def _take(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._wrong(f"{sign} is missing")

    def _wrong(self, what: str) -> QueryError:
        return QueryError(
            f"{what} before {self._next.shown} at character {self._next.start + 1:,} of the query"
        )

    # Names and values.

    def _name(self, what: str, *, keywords: bool = False) -> str:
        word = self._next
        plain = word.kind == "name" and (keywords or word.upper not in _KEYWORDS)
        if word.kind != "quoted" and not plain:
            raise self._wrong(f"the name of {what} is missing")
        self._at += 1
        return f"`{word.value}`"

    def _literal(self, value: Any) -> str:
        """A value as a parameter; the same value is the same one."""
        key = (type(value).__name__, value)
        if key not in self._names:
            name = f"literal_{len(self._names) + 1}"
            self._names[key] = name
            self.parameters[name] = value
        return self._typed(self._names[key], value)

    def _parameter(self) -> str:
        name = self._next.value
        if name not in self._given:
            raise QueryError(
                f"the query has the parameter ${name}, which is not given; give it, as {name}=VALUE"
            )
        self._at += 1
        self.parameters[f"given_{name}"] = self._given[name]
        return self._typed(f"given_{name}", self._given[name])

    def _typed(self, name: str, value: Any) -> str:
        # The embedded engine takes a whole number for the smallest type that holds it, and calculates there.
        if self._dialect == "embedded" and isinstance(value, int) and not isinstance(value, bool):
            return f"CAST(${name} AS INT64)"
        return f"${name}"

    # Operators, the loosest first.

    def _expression(self) -> str:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QueryError(f"the query has more than {_DEEPEST} expressions inside of each other")
        written = self._joined(self._exclusive, "OR")
        self._depth -= 1
        return written

    def _joined(self, inner: Callable[[], str], *signs: str) -> str:
        written = inner()
        while self._next.upper in signs:
            sign = self._next.upper
            self._at += 1
            written = f"{written} {sign} {inner()}"
        return written

    def _exclusive(self) -> str:
        return self._joined(self._both, "XOR")

    def _both(self) -> str:
        return self._joined(self._negated, "AND")

    def _negated(self) -> str:
        negations = 0
        while self._taken("NOT"):
            negations += 1
        return "NOT " * (negations % 2) + self._compared()

    def _compared(self) -> str:
        written = self._predicate()
        if self._next.upper in _COMPARING:
            sign = self._next.upper
            self._at += 1
            written = f"{written} {sign} {self._predicate()}"
            if self._next.upper in _COMPARING:
                raise self._wrong("one comparison at a time; join them by AND")
        return written

    def _predicate(self) -> str:
        written = self._sum()
        while True:
            if self._taken("=~"):
                written = f"{written} =~ {self._sum()}"
            elif self._taken("STARTS", "WITH"):
                written = f"{written} STARTS WITH {self._sum()}"
            elif self._taken("ENDS", "WITH"):
                written = f"{written} ENDS WITH {self._sum()}"
            elif self._taken("CONTAINS"):
                written = f"{written} CONTAINS {self._sum()}"
            elif self._taken("IN"):
                written = f"{written} IN {self._sum()}"
            elif self._taken("IS", "NULL"):
                written = f"{written} IS NULL"
            elif self._taken("IS", "NOT", "NULL"):
                written = f"{written} IS NOT NULL"
            else:
                return written

    def _sum(self) -> str:
        return self._joined(self._product, "+", "-")

    def _product(self) -> str:
        return self._joined(self._power, "*", "/", "%")

    def _power(self) -> str:
        return self._joined(self._signed, "^")

    def _signed(self) -> str:
        negative = False
        while self._next.upper in {"+", "-"}:
            negative ^= self._next.upper == "-"
            self._at += 1
        written = self._followed(self._atom())
        # Two signs in a row would begin a relation, or a comment elsewhere.
        return f"(- {written})" if negative else written

    def _followed(self, written: str) -> str:
        """Properties and places of a value."""
        while True:
            if self._taken("."):
                written = f"{written}.{self._name('a property', keywords=True)}"
            elif self._taken("["):
                written = f"{written}{self._place()}"
            else:
                return written

    def _place(self) -> str:
        """A place or a part of a list, of whole numbers; the embedded engine counts from 1."""
        one = 1 if self._dialect == "embedded" else 0
        first = self._whole()
        if not self._taken(".."):
            if first is None:
                raise self._wrong("the place in the list is missing, a whole number from 0")
            self._take("]")
            return f"[{first + one}]"
        last = self._whole()
        self._take("]")
        if self._dialect == "embedded":
            return f"[{(first or 0) + 1}:{'' if last is None else last}]"
        return f"[{'' if first is None else first}..{'' if last is None else last}]"

    def _whole(self) -> int | None:
        if self._next.kind != "integer":
            return None
        self._at += 1
        return int(self._words[self._at - 1].value)

    # Values.

    def _atom(self) -> str:
        word = self._next
        if word.kind == "parameter":
            return self._parameter()
        if word.kind in {"text", "integer", "decimal"}:
            self._at += 1
            return self._literal(_value(word))
        if word.upper in {"TRUE", "FALSE", "NULL"}:
            self._at += 1
            return word.upper.lower()
        opening = {"CASE": self._case, "(": self._in_brackets, "[": self._list, "{": self._map}
        return opening.get(word.upper, self._named)()

    def _in_brackets(self) -> str:
        self._take("(")
        written = f"({self._expression()})"
        self._take(")")
        return written

    def _named(self) -> str:
        """A variable, or what is done by a function."""
        word, after = self._next, self._words[min(self._at + 1, len(self._words) - 1)]
        if word.upper in _SUBQUERIES and after.upper == "{":
            raise self._wrong("a query inside of a query is not allowed")
        if word.kind == "name" and after.upper == "(":
            if word.upper in _QUANTIFIERS:
                return self._quantified()
            return self._call()
        return self._name("a variable")

    def _call(self) -> str:
        name = self._next.value
        self._at += 2
        distinct = self._taken("DISTINCT")
        if name.upper() == "COUNT" and not distinct and self._taken("*"):
            self._take(")")
            return "count(*)"
        arguments = [] if self._ahead(")") else self._several(self._expression)
        self._take(")")
        written = called(name, arguments, self._dialect, distinct=distinct) if arguments else None
        if written is None:
            raise QueryError(
                f"the function {name}() with {len(arguments)} arguments is not allowed; allowed are "
                f"{', '.join(FUNCTIONS)}, and all, any, none and single"
            )
        return written

    def _several(self, inner: Callable[[], str]) -> list[str]:
        found = [inner()]
        while self._taken(","):
            found.append(inner())
        return found

    def _quantified(self) -> str:
        quantifier = self._next.value.lower()
        self._at += 2
        variable, values = self._drawn()
        self._take("WHERE")
        condition = self._expression()
        self._take(")")
        return f"{quantifier}({variable} IN {values} WHERE {condition})"

    def _drawn(self) -> tuple[str, str]:
        variable = self._name("a variable")
        self._take("IN")
        return variable, self._expression()

    def _list(self) -> str:
        self._take("[")
        if self._next.kind in {"name", "quoted"} and self._words[self._at + 1].upper == "IN":
            written = self._comprehension()
            self._take("]")
            return written
        entries = [] if self._ahead("]") else self._several(self._expression)
        self._take("]")
        return f"[{', '.join(entries)}]"

    def _comprehension(self) -> str:
        """``[x IN list WHERE condition | value]``."""
        variable, values = self._drawn()
        condition = self._expression() if self._taken("WHERE") else None
        value = self._expression() if self._taken("|") else None
        if self._dialect == "embedded":
            kept = f"list_filter({values}, {variable} -> {condition})" if condition else values
            return f"list_transform({kept}, {variable} -> {value})" if value else kept
        where = f" WHERE {condition}" if condition else ""
        return f"[{variable} IN {values}{where}{f' | {value}' if value else ''}]"

    def _map(self) -> str:
        self._take("{")
        entries = [] if self._ahead("}") else self._several(self._entry)
        self._take("}")
        return f"{{{', '.join(entries)}}}"

    def _entry(self) -> str:
        key = self._name("a property", keywords=True)
        self._take(":")
        return f"{key}: {self._expression()}"

    def _case(self) -> str:
        self._take("CASE")
        of = "" if self._ahead("WHEN") else f" {self._expression()}"
        parts = []
        while self._taken("WHEN"):
            when = self._expression()
            self._take("THEN")
            parts.append(f" WHEN {when} THEN {self._expression()}")
        if not parts:
            raise self._wrong("WHEN is missing")
        other = f" ELSE {self._expression()}" if self._taken("ELSE") else ""
        self._take("END")
        return f"CASE{of}{''.join(parts)}{other} END"


def _value(word: Word) -> str | int | float:
    """What a literal stands for."""
    if word.kind == "text":
        return word.value
    if word.kind == "integer":
        return int(word.value)
    value = float(word.value)
    if not math.isfinite(value):
        raise QueryError(f"{word.shown} is too large a number")
    return value
