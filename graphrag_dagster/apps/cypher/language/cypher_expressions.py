"""Expressions of a query: each is parsed, and rendered anew."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from graphrag_dagster.apps.cypher.language.cypher_functions import FUNCTIONS, Dialect, function_call
from graphrag_dagster.apps.cypher.language.lexer import CypherToken, words
from graphrag_dagster.errors import QueryError

#: Expressions inside of each other.
_DEEPEST = 20
#: Entries of a list for each of which a condition is written out, and conditions written out in all.
_MOST_ENTRIES, _MOST_WRITTEN_OUT = 100, 1_000
#: Characters of a quantifier, which repeats its condition, as it is written anew.
_LONGEST_WRITTEN = 200_000
#: How what gives a list begins, as the embedded engine has it.
_LISTS = (
    *("nodes(", "rels(", "collect(", "keys(", "list_filter(", "list_transform(", "list_reverse("),
    *("string_split(", "(nodes(", "(rels("),
)
_NAMED = re.compile(r"`[^`]*`")
#: What might mean something to the engine inside of a text.
_ESCAPED = re.compile(r"[^A-Za-z0-9 ]")
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
        #: Variables of lists of literals, each with the entry that stands in its place.
        self._entries: dict[str, str] = {}
        #: Variables of the lambdas around what is read, and how many conditions have been written out.
        self._lambdas: list[str] = []
        self._written_out = 0
        #: Names that stand for lists.
        self._lists: set[str] = set()
        self.parameters: dict[str, Any] = {}

    # What stands next.

    @property
    def _next(self) -> CypherToken:
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
        if self._lambdas:
            return _constant(value)
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
        value = self._given[name]
        # Of null, of an empty list, and of one with nulls, the engine does not find the type.
        vague = any(one is None for one in (value or [None] if isinstance(value, list) else [value]))
        if self._lambdas or (vague and self._dialect == "embedded"):
            return _constant(value)
        self.parameters[f"given_{name}"] = value
        if isinstance(value, list):
            self._lists.add(f"$given_{name}")
        return self._typed(f"given_{name}", value)

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
                part = self._place()
                written = "null" if (written, ":" in part) == ("[]", False) else f"{written}{part}"
                if self._next.upper in {".", "["} and self._dialect == "embedded":
                    written = f"({written})"
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
        return self._variable()

    def _call(self) -> str:
        name = self._next.value
        self._at += 2
        distinct = self._taken("DISTINCT")
        if name.upper() == "COUNT" and not distinct and self._taken("*"):
            self._take(")")
            return "count(*)"
        arguments = [] if self._ahead(")") else self._several(self._expression)
        self._take(")")
        written = function_call(name, arguments, self._dialect, distinct=distinct) if arguments else None
        if written is None:
            raise QueryError(
                f"the function {name}() with {len(arguments)} arguments is not allowed; allowed are "
                f"{', '.join(FUNCTIONS)}, and all, any, none and single"
            )
        if self._dialect == "embedded":
            return self._as_opencypher(name.upper(), arguments[0], written)
        return written

    def _as_opencypher(self, function: str, argument: str, written: str) -> str:
        """The call of a function, told what the embedded engine does not find out itself."""
        if function == "REVERSE" and self._is_list(argument):
            return f"list_{written}"
        # Of what an OPTIONAL MATCH did not find, it would say what it might have been.
        optional = any(word.upper == "OPTIONAL" for word in self._words)
        if optional and function in {"LABELS", "TYPE"} and _NAMED.fullmatch(argument):
            return f"CASE WHEN {argument} IS NULL THEN null ELSE {written} END"
        return written

    def _is_list(self, written: str) -> bool:
        """Whether an expression is a list by its form, or by what was said of its name."""
        return written in self._lists or written.startswith(("[", *_LISTS)) or written.endswith(".`names`")

    def _several(self, inner: Callable[[], str]) -> list[str]:
        found = [inner()]
        while self._taken(","):
            found.append(inner())
        return found

    def _quantified(self) -> str:
        quantifier = self._next.value.lower()
        self._at += 2
        variable, values, entries = self._drawn()
        self._take("WHERE")
        if entries is not None:
            written = _join_conditions(quantifier, self._for_each(variable, entries))
        else:
            condition = self._in_lambda(variable, self._expression)
            written = f"{quantifier}({variable} IN {values} WHERE {condition})"
            if self._dialect == "embedded":
                written = _quantified_with_nulls(quantifier, variable, values, condition)
        if len(written) > _LONGEST_WRITTEN:
            raise QueryError("the query has too many conditions inside of each other; ask for less")
        self._take(")")
        return written

    def _drawn(self) -> tuple[str, str, list[str] | None]:
        """A variable, the list that it is drawn from, and the entries of a list that stands in the query.

        The embedded engine knows neither parameters nor outer variables in what is said of each entry, so
        that this is written out for such a list.
        """
        variable = self._name("a variable")
        self._take("IN")
        entries = None
        if self._dialect == "embedded":
            word, begun = self._next, self._at
            if word.upper == "[" and not self._begins_comprehension():
                self._at += 1
                entries = [] if self._ahead("]") else self._several(self._expression)
                self._take("]")
            elif word.kind == "parameter" and isinstance(self._given.get(word.value), list):
                self._at += 1
                entries = [_constant(one) for one in self._given[word.value]]
            # The list may be only the beginning of what is drawn from.
            if self._next.upper not in {"WHERE", "|", "]", ")"} or len(entries or ()) > _MOST_ENTRIES:
                self._at, entries = begun, None
        if entries is not None:
            return variable, "", entries
        values = self._expression()
        if self._dialect == "embedded" and values not in {"null", "[]"}:
            # Of several conditions over one list, the engine mistakes the properties, unless each has a copy.
            values = f"coalesce({values})"
        return variable, values, None

    def _for_each(self, variable: str, entries: list[str]) -> list[str]:
        """What follows, read once for each entry with that in the place of the variable."""
        outer, begun = self._entries, self._at
        written = []
        # With no entry it is read all the same, to be passed over.
        for entry in entries or ["null"]:
            self._written_out += 1
            if self._written_out > _MOST_WRITTEN_OUT:
                raise QueryError("the query has too many entries of lists inside of each other; ask for less")
            self._at, self._entries = begun, {**outer, variable: entry}
            written.append(f"({self._expression()})")
        self._entries = outer
        return written if entries else []

    def _in_lambda(self, variable: str, inner: Callable[[], str]) -> str:
        """What is said of each entry of a list, which the embedded engine takes as a lambda."""
        if self._dialect != "embedded":
            return inner()
        outer = self._entries
        self._entries = {name: entry for name, entry in outer.items() if name != variable}
        self._lambdas.append(variable)
        written = inner()
        self._lambdas.pop()
        self._entries = outer
        return written

    def _variable(self) -> str:
        name = self._name("a variable")
        if name in self._entries:
            entry = self._entries[name]
            return entry if _NAMED.fullmatch(entry) else f"({entry})"
        if name in self._lambdas[:-1] and name != self._lambdas[-1]:
            raise QueryError(
                f"the variable {name[1:-1]} of a list is used inside of another list, which the embedded "
                "graph cannot do: UNWIND the outer list instead"
            )
        return name

    def _list(self) -> str:
        self._take("[")
        if self._begins_comprehension(0):
            written = self._comprehension()
            self._take("]")
            return written
        entries = [] if self._ahead("]") else self._several(self._expression)
        self._take("]")
        return f"[{', '.join(entries)}]"

    def _comprehension(self) -> str:
        """``[x IN list WHERE condition | value]``."""
        variable, values, entries = self._drawn()
        if entries is not None and self._taken("|"):
            return f"[{', '.join(self._for_each(variable, entries))}]"
        if entries is not None:
            values = f"[{', '.join(entries)}]"
        condition = self._in_lambda(variable, self._expression) if self._taken("WHERE") else None
        value = self._in_lambda(variable, self._expression) if self._taken("|") else None
        if self._dialect == "embedded":
            # Of these, the engine does not find the type, and there is nothing to say something of.
            if values in {"null", "[]"}:
                return values
            kept = f"list_filter({values}, {variable} -> {condition})" if condition else values
            return f"list_transform({kept}, {variable} -> {value})" if value else kept
        where = f" WHERE {condition}" if condition else ""
        return f"[{variable} IN {values}{where}{f' | {value}' if value else ''}]"

    def _begins_comprehension(self, ahead: int = 1) -> bool:
        following = self._words[self._at + ahead : self._at + ahead + 2]
        return following[0].kind in {"name", "quoted"} and following[-1].upper == "IN"

    def _map(self) -> str:
        if self._lambdas:
            # The engine would give the first entry's map for each.
            raise self._wrong("a map made of each entry of a list is not possible in the embedded graph")
        self._take("{")
        if self._ahead("}"):
            raise self._wrong("a map has one property at least")
        entries = self._several(self._entry)
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


def _constant(value: Any) -> str:
    """A value as it is written where no parameter can stand; of a text all that could end it is escaped."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"CAST({value} AS INT64)"
    if isinstance(value, float):
        return f"CAST({value!r} AS DOUBLE)"
    if isinstance(value, str):
        return f"'{_ESCAPED.sub(_escape, value)}'"
    return f"[{', '.join(map(_constant, value))}]"


def _escape(found: re.Match[str]) -> str:
    point = ord(found[0])
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _join_conditions(quantifier: str, conditions: list[str]) -> str:
    """What a quantifier says of conditions, one for each entry of a list."""
    if quantifier == "all":
        return f"({' AND '.join(conditions) or 'true'})"
    if quantifier == "single":
        found = " + ".join(f"CASE WHEN {one} THEN 1 ELSE 0 END" for one in conditions)
        # Null where a condition is.
        known = " + ".join(f"CASE WHEN {one} THEN 1 WHEN NOT {one} THEN 0 END" for one in conditions)
        return f"(CASE WHEN {found} > 1 THEN false ELSE {known} = 1 END)" if conditions else "false"
    either = f"({' OR '.join(conditions) or 'false'})"
    return either if quantifier == "any" else f"(NOT {either})"


def _quantified_with_nulls(quantifier: str, variable: str, values: str, condition: str) -> str:
    """A quantifier over a list by three-valued logic; the embedded engine's own take null for false."""
    if values == "null":
        return "null"

    def some(of: str) -> str:
        return f"any({variable} IN {values} WHERE {of})"

    unknown = f"WHEN {values} IS NULL OR {some(f'({condition}) IS NULL')} THEN null"
    match quantifier:
        case "all":
            return f"(CASE WHEN {some(f'NOT ({condition})')} THEN false {unknown} ELSE true END)"
        case "single":
            kept = f"size(list_filter({values}, {variable} -> {condition}))"
            return f"(CASE WHEN {kept} > 1 THEN false {unknown} ELSE {kept} = 1 END)"
    found, other = ("true", "false") if quantifier == "any" else ("false", "true")
    return f"(CASE WHEN {some(condition)} THEN {found} {unknown} ELSE {other} END)"


def _value(word: CypherToken) -> str | int | float:
    """What a literal stands for."""
    if word.kind == "text":
        return word.value
    if word.kind == "integer":
        return int(word.value)
    value = float(word.value)
    if not math.isfinite(value):
        raise QueryError(f"{word.shown} is too large a number")
    return value
