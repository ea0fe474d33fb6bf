"""The tokens of a Cypher query."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.errors import QueryError

Kind = Literal["name", "quoted", "text", "integer", "decimal", "parameter", "sign", "end"]

_WORD = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<comment>//|/\*)
    |(?P<decimal>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<integer>[0-9]+)
    |(?P<parameter>\$[A-Za-z_][A-Za-z0-9_]*)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>`[^`\\\x00-\x1f\x7f]+`)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<sign><>|<=|>=|=~|\.\.|[()\[\]{},.:;|+\-*/%^=<>])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LONGEST_NAME = 100
_LONGEST_SHOWN = 40
_MOST_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CypherToken:
    """A word of a query: what it is, what it stands for, and where it begins and ends there."""

    kind: Kind
    value: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """What it is as a keyword or a sign; blank where it is neither."""
        return self.value.upper() if self.kind in {"name", "sign"} else ""

    @property
    def shown(self) -> str:
        """As an error names it."""
        if self.kind == "end":
            return "the end of the query"
        return repr(self.value[:_LONGEST_SHOWN])


def words(query: str) -> Iterator[CypherToken]:
    """Yield the words of a query, one for its end last.

    Raises:
        QueryError: it has comments, escapes outside of texts, or what is no word; says where.
    """
    place = 0
    while place < len(query):
        found = _WORD.match(query, place)
        if found is None or found.lastgroup is None:
            raise QueryError(
                f"the query has what cannot be read at character {place + 1:,}: {_rest(query, place)}"
            )
        place = found.end()
        if found.lastgroup == "comment":
            raise QueryError(
                f"the query has a comment at character {found.start() + 1:,}; leave comments out"
            )
        if found.lastgroup != "space":
            yield _word(found)
    yield CypherToken("end", "", place, place)


def _word(found: re.Match[str]) -> CypherToken:
    kind, value = found.lastgroup, found.group()
    match kind:
        case "text":
            return CypherToken("text", _unescape(value[1:-1]), *found.span())
        case "quoted":
            return CypherToken("quoted", _named(value[1:-1]), *found.span())
        case "parameter":
            return CypherToken("parameter", _named(value[1:]), *found.span())
        case "name":
            return CypherToken("name", _named(value), *found.span())
        case "integer":
            return CypherToken("integer", _integer(value), *found.span())
        case "decimal":
            return CypherToken("decimal", value, *found.span())
    return CypherToken("sign", value, *found.span())


def _named(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise QueryError(f"a name has at most {_LONGEST_NAME} characters, not {len(name):,}: {name[:20]}…")
    return name


def _integer(digits: str) -> str:
    if digits != "0" and digits.startswith("0"):
        raise QueryError(f"{digits[:_LONGEST_SHOWN]!r} is no decimal number: it begins with 0")
    if len(digits) > len(str(_MOST_INTEGER)) or int(digits) > _MOST_INTEGER:
        raise QueryError(f"{digits[:_LONGEST_SHOWN]} does not fit into 64 bits")
    return digits


def _unescape(text: str) -> str:
    return _ESCAPED.sub(_unescape_one, text)


def _unescape_one(escape: re.Match[str]) -> str:
    if escape[3] is not None:
        if escape[3] not in _PLAIN:
            raise QueryError(f"a text has the unknown escape \\{escape[3]}")
        return _PLAIN[escape[3]]
    point = int(escape[1] or escape[2], 16)
    # Half of a pair is no character.
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise QueryError(f"a text has an escape that is no character: {escape[0]}")
    return chr(point)


def _rest(query: str, place: int) -> str:
    return repr(query[place : place + 20])
