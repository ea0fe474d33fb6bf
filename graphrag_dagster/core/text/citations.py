"""Citations as models write them: ``[Data: Entities (1, 2); Relationships (3, +more)]`` and its variants."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

#: What a search context may hold and an answer may cite; a source is a text unit.
ContextKind = Literal["entity", "relationship", "claim", "report", "source"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference to a row of the context by its id there (local to the prompt)."""

    kind: ContextKind
    id: int


LABELS: Mapping[ContextKind, str] = MappingProxyType(
    {
        "entity": "Entities",
        "relationship": "Relationships",
        "claim": "Claims",
        "report": "Reports",
        "source": "Sources",
    }
)
_BEGINNINGS: Mapping[str, ContextKind] = MappingProxyType(
    {
        "entit": "entity",
        "relation": "relationship",
        "claim": "claim",
        "report": "report",
        "source": "source",
        "text": "source",
    }
)
_WIDEST_RANGE = 50

_DATA = r"\s{0,3}Data\s?:"
# What stands in a mark is found first and read then, so that time stays linear whatever the text.
_MARK = re.compile(
    r"(?P<blank>[ \t]{0,8})(?:"
    rf"\[{_DATA}(?P<a>[^\[\]]{{1,1000}}(?:\[[^\[\]]{{1,200}}\][^\[\]]{{0,200}}){{0,8}})\]"
    rf"|【(?:{_DATA})?(?P<b>[^【】]{{1,1000}})】"
    rf"|\({_DATA}(?P<c>[^()]{{1,200}}(?:\([^()]{{1,200}}\)[^()]{{0,200}}){{0,8}})\)"
    r"|\[(?P<d>(?:entit(?:y|ies)|relationships?|claims?|reports?|sources?|and|more|[\d\s,;:&()\#+–-]){2,400})\])",
    re.IGNORECASE,
)
_NUMBER = r"(?:\#?\d{1,9}(?!\d)(?:\s?[-–]\s?\#?\d{1,9}(?!\d))?|\+\s?more)"
_GROUP = re.compile(
    rf"(?P<label>[A-Za-z][A-Za-z_]{{1,30}}):?\s{{0,2}}[(\[]?\s{{0,2}}"
    rf"(?P<ids>{_NUMBER}(?:(?:\s{{0,2}}[,;&]\s{{0,2}}(?:and\s)?|\s(?:and\s)?){_NUMBER})*)",
    re.IGNORECASE,
)
_UNCLOSED = re.compile(
    r"(?:\[(?:\s{0,3}(?:D|Da|Dat|Data\s?(?::[^\[\]]{0,1000}(?:\[[^\[\]]{0,200})?)?)|[\d\s,;]{0,200})?|【[^【】]{0,1000})\Z"
)
_ONE_NUMBER = re.compile(_NUMBER, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Cited:
    kind: ContextKind | None
    label: str
    ids: tuple[int, ...]
    more: bool


def parse_citations(text: str) -> tuple[Citation, ...]:
    """Return what a text cites, each once, in the order of the text; ``+more`` is none."""
    cited = (
        Citation(group.kind, number)
        for mark in _MARK.finditer(text)
        for group in _groups(mark)
        if group.kind
        for number in group.ids
    )
    return tuple(dict.fromkeys(cited))


def ends_in_citation(text: str) -> bool:
    """Return whether a text ends inside a citation, so that its end is lost."""
    return _UNCLOSED.search(text[-1500:].rstrip()) is not None


def canonical_citations(text: str) -> str:
    """Return the text with every citation in the one form ``[Data: Entities (1, 2); Reports (3)]``."""
    return _rewritten(text, lambda _, number: number, others=True)


def rewrite_citations(text: str, mapping: Mapping[Citation, int]) -> str:
    """Return the text with new ids in its citations.

    Ids that are not in ``mapping`` are taken out, and so are marks that are left with none.
    """
    return _rewritten(text, lambda kind, number: mapping.get(Citation(kind, number)), others=False)


def _rewritten(text: str, new: Callable[[ContextKind, int], int | None], *, others: bool) -> str:
    def rewritten(mark: re.Match[str]) -> str:
        groups, parts = list(_groups(mark)), []
        if not groups:
            return mark[0]
        for group in groups:
            if group.kind:
                ids = [new(group.kind, number) for number in group.ids]
                label, kept = LABELS[group.kind], [number for number in ids if number is not None]
            else:
                label, kept = group.label, list(group.ids) if others else []
            if kept:
                shown = [*map(str, dict.fromkeys(kept)), *(["+more"] if group.more else [])]
                parts.append(f"{label} ({', '.join(shown)})")
        return f"{mark['blank']}[Data: {'; '.join(parts)}]" if parts else ""

    return _MARK.sub(rewritten, text)


def _groups(mark: re.Match[str]) -> Iterator[_Cited]:
    inside = next(mark[name] for name in "abcd" if mark[name] is not None)
    for group in _GROUP.finditer(inside):
        label = group["label"]
        written = _ONE_NUMBER.findall(group["ids"])
        numbers = tuple(number for one in written if "+" not in one for number in _numbers(one))
        yield _Cited(_kind(label), label, numbers, "+" in group["ids"])


@lru_cache(maxsize=256)
def _kind(label: str) -> ContextKind | None:
    return next((kind for start, kind in _BEGINNINGS.items() if label.lower().startswith(start)), None)


def _numbers(written: str) -> Iterable[int]:
    if written.isdecimal():
        return (int(written),)
    first, _, last = re.sub(r"[#\s]", "", written).replace("–", "-").partition("-")
    begin, end = int(first), int(last or first)
    return range(begin, end + 1) if begin <= end < begin + _WIDEST_RANGE else sorted({begin, end})
