"""Headings and lists of Word documents, by their styles and numbering."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from graphrag_dagster.kernel.documents.readers.office.xml_packages import child, children, number_in

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_MOST_LEVELS = 9
_MOST_PARENTS = 20


class Styles:
    """Kinds of paragraphs: headings, or list items, which it counts."""

    def __init__(self, styles: Element | None, numbering: Element | None) -> None:
        """Take the parts that say so, where there are such."""
        self._styles = {
            style.get("w:styleId", ""): style
            for style in _all(styles, "w:style")
            if style.get("w:type") == "paragraph"
        }
        kinds = {one.get("w:abstractNumId", ""): one for one in _all(numbering, "w:abstractNum")}
        self._lists: dict[str, dict[int, str]] = {}
        for one in _all(numbering, "w:num"):
            named = child(one, "w:abstractNumId")
            kind = kinds.get(named.get("w:val", "")) if named is not None else None
            self._lists[one.get("w:numId", "")] = _formats(kind) if kind is not None else {}
        self._counts: dict[str, list[int]] = {}

    def with_mark(self, paragraph: Element, text: str) -> str:
        """Return the text of a paragraph with the mark of a heading or of an item, where it is one."""
        own = child(paragraph, "w:pPr")
        style = _value(own, "w:pStyle")
        if level := self._level(own, style):
            return f"{'#' * min(level, 6)} {' '.join(text.split())}"
        item = self._item(own, style)
        if item is None:
            return text
        number, level = item
        return f"{'  ' * level}{self._mark(number, level)} {' '.join(text.split())}"

    def _parents(self, style: str | None) -> Iterable[Element]:
        for _ in range(_MOST_PARENTS):
            found = self._styles.get(style or "")
            if found is None:
                return
            yield found
            style = _value(found, "w:basedOn")

    def _level(self, own: Element | None, style: str | None) -> int:
        for found in self._parents(style):
            named = _HEADING.fullmatch((_value(found, "w:name") or "").strip())
            if named:
                return int(named[1])
        outlines = [own, *(child(found, "w:pPr") for found in self._parents(style))]
        for one in outlines:
            level = number_in(_value(one, "w:outlineLvl"), _MOST_LEVELS, -1)
            if level >= 0:
                # The last level is that of text.
                return (level + 1) % (_MOST_LEVELS + 1)
        return 0

    def _item(self, own: Element | None, style: str | None) -> tuple[str, int] | None:
        for one in (own, *(child(found, "w:pPr") for found in self._parents(style))):
            numbered = child(one, "w:numPr")
            if numbered is None:
                continue
            number = _value(numbered, "w:numId") or "0"
            level = number_in(_value(numbered, "w:ilvl"), _MOST_LEVELS - 1, 0)
            return (number, level) if number in self._lists and number != "0" else None
        return None

    def _mark(self, number: str, level: int) -> str:
        form = self._lists[number].get(level, "bullet")
        if form in ("bullet", "none"):
            return "-"
        counts = self._counts.setdefault(number, [0] * _MOST_LEVELS)
        counts[level] += 1
        counts[level + 1 :] = [0] * (_MOST_LEVELS - level - 1)
        if form in ("lowerLetter", "upperLetter") and counts[level] <= 26:
            return f"{chr((97 if form == 'lowerLetter' else 65) + counts[level] - 1)}."
        return f"{counts[level]}."


def _all(root: Element | None, name: str) -> Iterable[Element]:
    return root.iter(name) if root is not None else ()


def _value(element: Element | None, name: str) -> str | None:
    found = child(element, name)
    return found.get("w:val") if found is not None else None


def _formats(kind: Element) -> dict[int, str]:
    return {
        number_in(level.get("w:ilvl"), _MOST_LEVELS, 0): _value(level, "w:numFmt") or "decimal"
        for level in children(kind, "w:lvl")
    }
