"""Replies that repeat themselves, as small models' do: detected as they arrive, cut to what is new."""

import re
from collections.abc import Sequence

#: Characters at the end that are looked for before it, how often it must recur, longest period in characters.
_TAIL, _ROUNDS, _LONGEST_ROUND = 60, 5, 800
#: Characters that must repeat at least: a rule of dashes in a table is shorter.
_LEAST = 300
#: Records in a row that were all given before.
_OLD_RECORDS = 6
#: A record: a flat JSON object, or a delimited tuple on its own.
_JSON_RECORD = re.compile(r'\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_TUPLE_RECORD = re.compile(r'\("?(?:entity|relationship|claim)"?<\|>[^\n]*?\)(?=\s*(?:##|\Z|<\|COMPLETE))')
_CLOSING = {"{": "}", "[": "]"}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')


def is_repetitive(text: str) -> bool:
    """Return whether the end of a reply repeats itself, so that it is not likely to end.

    Either it goes round: its end is five times the same, of up to 800 characters and 300 in all; or its last
    six records were all given before.
    """
    return _goes_round(text) or _are_old(_records(text))


class GrowingReply:
    """Looks at a reply that grows; records that it has found it does not look for again."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def is_repetitive(self, text: str) -> bool:
        """Return whether the text repeats itself, of which that of the last time was the beginning."""
        # The last may have been taken for whole because the text ended there.
        del self._found[-1:]
        self._found += _records(text, self._found[-1][0] if self._found else 0)
        # What was found in a beginning may be no record of the whole.
        return (_are_old(self._found) or _goes_round(text)) and is_repetitive(text)


def _goes_round(text: str) -> bool:
    tail = text[-_TAIL:]
    before = text.rfind(tail, 0, len(text) - 1)
    period = len(text) - len(tail) - before
    if before < 0 or period > _LONGEST_ROUND or len(tail) != _TAIL:
        return False
    length = max(_ROUNDS * period, _LEAST)
    rounds = text[-length:]
    return len(rounds) == length and rounds[period:] == rounds[:-period]


def _are_old(found: Sequence[tuple[int, str]]) -> bool:
    """Whether the last records were all given before."""
    records = [record for _, record in found]
    return len(records) > _OLD_RECORDS and set(records[-_OLD_RECORDS:]) <= set(records[:-_OLD_RECORDS])


def before_repetition(text: str) -> str | None:
    """Return the beginning of a repetitive reply up to its last record that is new, with brackets closed.

    Args:
        text: the visible reply, JSON with lists of records or delimited tuples, cut off anywhere.

    Returns:
        JSON, or tuples; None if the reply is not repetitive or has no whole record.
    """
    if not is_repetitive(text):
        return None
    seen: set[str] = set()
    end = 0
    for at, record in _records(text):
        if record not in seen:
            seen.add(record)
            end = at
    if not end:
        return None
    opened: list[str] = []
    for mark in _BRACKETS.finditer(text, 0, end):
        if mark[0] in _CLOSING:
            opened.append(_CLOSING[mark[0]])
        elif mark[0] in "]}" and opened:
            opened.pop()
    return text[:end] + "".join(reversed(opened))


def _records(text: str, start: int = 0) -> list[tuple[int, str]]:
    """Return the end of each whole record from ``start`` on and the record, its white space normalised."""
    pattern = _JSON_RECORD if text.lstrip()[:1] in {"{", "[", "`"} else _TUPLE_RECORD
    return [(found.end(), " ".join(found[0].split())) for found in pattern.finditer(text, start)]
