"""Citations as models write them: ``[Data: Entities (1, 2); Relationships (3, +more)]`` and variants."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

#: Kinds of context rows that an answer may cite; a source is a text unit.
ContextKind = Literal["entity", "relationship", "claim", "report", "source"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference to a context row by its id, which is local to the prompt."""

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
_KIND_PREFIXES: Mapping[str, ContextKind] = MappingProxyType(
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
# Marks are matched first and parsed afterwards, which keeps the time linear for any text.
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
class _CitationGroup:
    kind: ContextKind | None
    label: str
    ids: tuple[int, ...]
    more: bool


def parse_citations(text: str) -> tuple[Citation, ...]:
    """Return the distinct citations of a text in order of appearance, ignoring ``+more``."""
    cited = (
        Citation(group.kind, number)
        for mark in _MARK.finditer(text)
        for group in _groups(_inside(mark))
        if group.kind
        for number in group.ids
    )
    return tuple(dict.fromkeys(cited))


def ends_in_citation(text: str) -> bool:
    """Return whether a text was cut off inside a citation."""
    return _UNCLOSED.search(text[-1500:].rstrip()) is not None


def canonical_citations(text: str) -> str:
    """Return the text with every citation in canonical form: ``[Data: Entities (1, 2); Reports (3)]``."""
    return _rewrite(text, lambda _, number: number, others=True)


def rewrite_citations(text: str, mapping: Mapping[Citation, int]) -> str:
    """Return the text with new ids in its citations.

    Ids that are not in ``mapping`` are removed, as are marks left empty.
    """
    return _rewrite(text, lambda kind, number: mapping.get(Citation(kind, number)), others=False)


def _rewrite(text: str, new_id: Callable[[ContextKind, int], int | None], *, others: bool) -> str:
    def rewrite_mark(mark: re.Match[str]) -> str:
        groups, parts = _groups(_inside(mark)), []
        if not groups:
            return mark[0]
        for group in groups:
            if group.kind:
                ids = [new_id(group.kind, number) for number in group.ids]
                label, kept = LABELS[group.kind], [number for number in ids if number is not None]
            else:
                label, kept = group.label, list(group.ids) if others else []
            if kept:
                items = [*map(str, dict.fromkeys(kept)), *(["+more"] if group.more else [])]
                parts.append(f"{label} ({', '.join(items)})")
        return f"{mark['blank']}[Data: {'; '.join(parts)}]" if parts else ""

    return _MARK.sub(rewrite_mark, text)


def _inside(mark: re.Match[str]) -> str:
    return next(mark[name] for name in "abcd" if mark[name] is not None)


# Each mark is brought into canonical form, and read again.
@lru_cache(maxsize=1024)
def _groups(inside: str) -> tuple[_CitationGroup, ...]:
    groups = []
    for group in _GROUP.finditer(inside):
        label = group["label"]
        items = _ONE_NUMBER.findall(group["ids"])
        numbers = tuple(number for item in items if "+" not in item for number in _numbers(item))
        groups.append(_CitationGroup(kind_of_label(label), label, numbers, "+" in group["ids"]))
    return tuple(groups)


def kind_of_label(label: str) -> ContextKind | None:
    """Return the kind of rows that a label in a citation names, None for an unknown one."""
    return next((kind for start, kind in _KIND_PREFIXES.items() if label.lower().startswith(start)), None)


def _numbers(item: str) -> Iterable[int]:
    if item.isdecimal():
        return (int(item),)
    first, _, last = re.sub(r"[#\s]", "", item).replace("–", "-").partition("-")
    begin, end = int(first), int(last or first)
    return range(begin, end + 1) if begin <= end < begin + _WIDEST_RANGE else sorted({begin, end})
