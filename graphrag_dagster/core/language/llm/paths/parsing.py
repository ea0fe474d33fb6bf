"""What a model has selected, as its reply says (spec_lego §2)."""

import re
from collections.abc import Iterator, Sequence

from graphrag_dagster.core.paths.options import Parsing

#: What a model writes where it selects nothing.
NONE = "none"
_BULLET = re.compile(r"\A(?:[-*•–—+]|\(?#?\d{1,6}[.):\]])\s+")
_QUOTES = (("'", "'"), ('"', '"'), ("`", "`"), ("“", "”"), ("‘", "’"), ("«", "»"), ("**", "**"))
_IDS = re.compile(r"[\[(#]*\d{1,6}[\])]*(?:(?:\s*[,;]\s*|\s+and\s+|\s+)[\[(#]*\d{1,6}[\])]*)*[.]?")
_NUMBER = re.compile(r"\d{1,6}")


def selected(reply: str, shown: Sequence[str], parsing: Parsing) -> list[int]:
    """Return the places of the candidates that a reply names, without repeats.

    ``default``: line by line, in the order of the reply. A line names a candidate where the two are the same
    but for bullets, numbers and quotes around it, capitals and blanks; one of numbers alone names those
    candidates. ``paper``: in the order of the candidates, each that stands anywhere in the reply.

    Args:
        reply: as it came, without hidden reasoning.
        shown: candidates as the prompt shows them, without their numbers, which count from 1.
        parsing: by which rule.
    """
    if parsing == "paper":
        return [place for place, text in enumerate(shown) if text in reply]
    exact, folded = _first_places(shown), _first_places([_folded(text) for text in shown])
    found: dict[int, None] = {}
    for line in reply.splitlines():
        found.update(dict.fromkeys(_named(" ".join(line.split()), exact, folded, len(shown))))
    return list(found)


def says_none(reply: str) -> bool:
    """Return whether a reply says that nothing is selected."""
    return reply.strip().strip("\"'`*.").casefold() == NONE


def _named(line: str, exact: dict[str, int], folded: dict[str, int], count: int) -> list[int]:
    """The candidates that a line names."""
    for form in _forms(line):
        if form in exact:
            return [exact[form]]
        if (place := folded.get(_folded(form))) is not None:
            return [place]
    if _IDS.fullmatch(line):
        return [number - 1 for number in map(int, _NUMBER.findall(line)) if 1 <= number <= count]
    return []


def _forms(line: str) -> Iterator[str]:
    """A line as it is, and with less and less around it: a label may begin with a number itself."""
    yield line
    while (bare := _barer(line)) != line:
        line = bare
        yield line


def _barer(line: str) -> str:
    """A line without one thing around it; the line where there is nothing."""
    if _BULLET.match(line):
        return _BULLET.sub("", line, count=1)
    for opening, closing in _QUOTES:
        if line.startswith(opening) and line.endswith(closing) and len(line) > len(opening) + len(closing):
            return line[len(opening) : -len(closing)].strip()
    return line


def _first_places(texts: Sequence[str]) -> dict[str, int]:
    return {text: place for place, text in reversed(list(enumerate(texts)))}


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
