"""Replies that repeat themselves, as small models' do: detected as they arrive, cut to what is new."""

import re
from collections.abc import Sequence

from graphrag_dagster.kernel.models.chat.hidden_reasoning import split

#: Characters at the end that are looked for before it, how often it must recur, longest period in characters.
_TAIL, _ROUNDS, _LONGEST_ROUND = 60, 5, 800
#: Characters that must repeat at least: a rule of dashes in a table is shorter.
_LEAST = 300
#: Records in a row that were all given before: of rows, and of what is too short to be one.
_OLD_ROWS, _OLD_RECORDS = 2, 6
#: A record: a flat JSON object, or a delimited tuple on its own.
_JSON_RECORD = re.compile(r'\{(?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+\}')
_TUPLE_RECORD = re.compile(
    r'\("?(?:entity|relationship|claim)"?<\|>[^\n]*?\)(?=[ \t]*(?:\n|##|\Z|<\|COMPLETE))'
)
#: Words before JSON; where more stand there, it may be a draft.
_BEFORE_JSON = re.compile(r"[^{\[`]{0,200}[{\[`]")
#: Fields of a row of an extraction: a verdict or a rating has fewer, and may be the same for two items.
_FIELDS_OF_ROW = 3
_KEY = re.compile(r'"\s*:|<\|>')
_CLOSING = {"{": "}", "[": "]"}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')


def is_repetitive(text: str, since: int | None = None) -> bool:
    """Return whether the end of a reply repeats itself, so that it is not likely to end.

    Either it goes round: its end is five times the same, of up to 800 characters and 300 in all; or its last
    row is the one before it; or its last two rows were given before, or its last six records of any kind.

    Args:
        text: the reply so far.
        since: the character from which on no record may be new; None: any may.
    """
    if _goes_round(text):
        return True
    records = _records(text)
    return _are_old([record for _, record in records]) and (since is None or _end_of_new(records) <= since)


def _goes_round(text: str) -> bool:
    tail = text[-_TAIL:]
    before = text.rfind(tail, 0, len(text) - 1)
    period = len(text) - len(tail) - before
    if before < 0 or period > _LONGEST_ROUND or len(tail) != _TAIL:
        return False
    length = max(_ROUNDS * period, _LEAST)
    rounds = text[-length:]
    return len(rounds) == length and rounds[period:] == rounds[:-period]


def _are_old(records: Sequence[str]) -> bool:
    """Whether the last records were all given before."""
    last = records[-_OLD_ROWS:]
    if len(last) == _OLD_ROWS and all(len(_KEY.findall(one)) >= _FIELDS_OF_ROW for one in last):
        return last[0] == last[1] or set(last) <= set(records[:-_OLD_ROWS])
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
    end = _end_of_new(_records(text))
    if not end:
        return None
    opened: list[str] = []
    for mark in _BRACKETS.finditer(text, 0, end):
        if mark[0] in _CLOSING:
            opened.append(_CLOSING[mark[0]])
        elif mark[0] in "]}" and opened:
            opened.pop()
    return text[:end] + "".join(reversed(opened))


def _end_of_new(records: Sequence[tuple[int, str]]) -> int:
    """The end of the last record that was not given before; 0 where there is none."""
    first = {record: end for end, record in reversed(records)}
    return max(first.values(), default=0)


def _records(text: str) -> list[tuple[int, str]]:
    """Return the end of each whole record and the record, its white space normalised.

    What stands in hidden reasoning is none: the reply says it once more.
    """
    begin = len(text) - len(split(text).shown)
    if text.find("<|>", begin) >= 0:
        pattern = _TUPLE_RECORD
    elif _BEFORE_JSON.match(text, begin):
        pattern = _JSON_RECORD
    else:
        return []
    return [(found.end(), " ".join(found[0].split())) for found in pattern.finditer(text, begin)]
