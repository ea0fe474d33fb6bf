"""Operations on the tree of a page in linear time, however it is nested and repeated."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4.element import NavigableString, PageElement, Tag

#: Levels that the conversion to Markdown, which calls itself, reaches in every Python.
_MOST_LEVELS = 120
#: Items of a list, rows of a table's head and bodies of a table: each is compared with those before it.
_MOST_ALIKE = {"li": 1500, "tr": 1500, "tbody": 1500, "thead": 100}
_BLANK_RUN = re.compile(r"[ \n]{1500}")
_DIGITS = re.compile(r"[0-9]{1,6}")


def walk(root: "Tag") -> Iterator[tuple["PageElement", list["Tag"]]]:
    """Yield everything below a tag in the order of the page, each with the tags that hold it.

    The list of those, outermost first, is one and the same and changes from step to step.
    """
    from bs4.element import Tag

    above = [root]
    for element in root.descendants:
        while above[-1] is not element.parent:
            above.pop()
        yield element, above
        if isinstance(element, Tag):
            above.append(element)


def inside(root: "Tag", name: str) -> set[int]:
    """Identities of all that stands below a tag of that name."""
    found: set[int] = set()
    for element, above in walk(root):
        if above[-1].name == name or id(above[-1]) in found:
            found.add(id(element))
    return found


def holding(elements: Iterable["PageElement"]) -> set[int]:
    """Identities of all tags that hold at least one of the elements."""
    found: set[int] = set()
    for element in elements:
        tag = element.parent
        while tag is not None and id(tag) not in found:
            found.add(id(tag))
            tag = tag.parent
    return found


def drop(root: "Tag", tags: Collection["Tag"]) -> None:
    """Take tags and what they hold out of the tree.

    The library's own way looks for each tag among its siblings, one by one.
    """
    gone = {id(tag) for tag in tags}
    outermost = _outermost(root, gone)
    for tag in outermost:
        _unlink(tag)
    parents = {id(tag.parent): tag.parent for tag in outermost}
    for parent in parents.values():
        if parent is not None:
            parent.contents[:] = [child for child in parent.contents if id(child) not in gone]


def _outermost(root: "Tag", wanted: Collection[int]) -> list["Tag"]:
    from bs4.element import Tag

    found: list[Tag] = []
    within: set[int] = set()
    for element, above in walk(root):
        if not isinstance(element, Tag):
            continue
        if id(above[-1]) in within:
            within.add(id(element))
        elif id(element) in wanted:
            within.add(id(element))
            found.append(element)
    return found


def _unlink(tag: "Tag") -> None:
    from bs4.element import Tag

    last: PageElement = tag
    while isinstance(last, Tag) and last.contents:
        last = last.contents[-1]
    before, after = tag.previous_element, last.next_element
    if before is not None:
        before.next_element = after
    if after is not None:
        after.previous_element = before
    if tag.previous_sibling is not None:
        tag.previous_sibling.next_sibling = tag.next_sibling
    if tag.next_sibling is not None:
        tag.next_sibling.previous_sibling = tag.previous_sibling


def replace_strings(root: "Tag", replaced: Callable[["NavigableString"], str]) -> None:
    """Put what ``replaced`` gives in the place of every string, comments and the like aside."""
    from bs4.element import NavigableString, Tag

    holders = [root, *(element for element, _ in walk(root) if isinstance(element, Tag))]
    for tag in holders:
        for place, child in enumerate(tag.contents):
            if type(child) is NavigableString and (text := replaced(child)) != child:
                _put(tag, place, child, NavigableString(text))


def _put(parent: "Tag", place: int, old: "PageElement", new: "PageElement") -> None:
    parent.contents[place] = new
    new.parent = parent
    new.previous_element, new.next_element = old.previous_element, old.next_element
    new.previous_sibling, new.next_sibling = old.previous_sibling, old.next_sibling
    if new.previous_element is not None:
        new.previous_element.next_element = new
    if new.next_element is not None:
        new.next_element.previous_element = new
    if new.previous_sibling is not None:
        new.previous_sibling.next_sibling = new
    if new.next_sibling is not None:
        new.next_sibling.previous_sibling = new


def convertible(content: "Tag") -> bool:
    """Whether a page is of a kind that the conversion to Markdown masters in reasonable time.

    Numbers in attributes that it would follow without bound are taken away.
    """
    from bs4.element import NavigableString, Tag

    alike: dict[tuple[int, str], int] = {}
    for element, above in walk(content):
        if len(above) > _MOST_LEVELS:
            return False
        if isinstance(element, Tag):
            _tame(element)
            if element.name in _MOST_ALIKE:
                place = (id(above[-1]), element.name)
                alike[place] = alike.get(place, 0) + 1
                most = _MOST_ALIKE["thead" if above[-1].name == "thead" else element.name]
                if alike[place] > most and not _rows_of_body(element, above[-1]):
                    return False
        elif isinstance(element, NavigableString) and _BLANK_RUN.search(element):
            return False
    return True


def _rows_of_body(element: "Tag", parent: "Tag") -> bool:
    return (element.name == "tr" and parent.name != "thead") or (element.name == "li" and parent.name != "ol")


def _tame(tag: "Tag") -> None:
    for name, most in (("colspan", 50), ("start", 999_999)):
        value = tag.attrs.get(name)
        if value is not None and not (_DIGITS.fullmatch(str(value)) and int(str(value)) <= most):
            del tag.attrs[name]
