"""Removes from a web page whatever a browser does not show its reader, in linear time."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.common.printable import plural

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString, PageElement, Tag


#: Levels that the conversion to Markdown, which calls itself, reaches in every Python.
_MOST_LEVELS = 120
#: Items of a list, rows of a table's head and bodies of a table: each is compared with those before it.
_MOST_ALIKE = {"li": 1500, "tr": 1500, "tbody": 1500, "thead": 100}
#: Columns and rows that a cell may span, and empty cells that a page is given for them.
_WIDEST, _TALLEST, _MOST_PADDED = 50, 65_534, 50_000
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


def descendants_of(root: "Tag", name: str) -> set[int]:
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
    outermost = _outermost_of(root, gone)
    for tag in outermost:
        _unlink(tag)
    parents = {id(tag.parent): tag.parent for tag in outermost}
    for parent in parents.values():
        if parent is not None:
            parent.contents[:] = [child for child in parent.contents if id(child) not in gone]


def _outermost_of(root: "Tag", wanted: Collection[int]) -> list["Tag"]:
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
                _replace_node(tag, place, child, NavigableString(text))


def _replace_node(parent: "Tag", place: int, old: "PageElement", new: "PageElement") -> None:
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
            _drop_extreme_attributes(element)
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


def _drop_extreme_attributes(tag: "Tag") -> None:
    for name, most in (("colspan", _WIDEST), ("rowspan", _TALLEST), ("start", 999_999)):
        value = tag.attrs.get(name)
        if value is not None and not (_DIGITS.fullmatch(str(value)) and int(str(value)) <= most):
            del tag.attrs[name]


def pad_rows(content: "Tag") -> bool:
    """Put an empty cell wherever a cell of a row above reaches down, so that columns stay columns.

    Returns:
        whether all are there: a page that needs more than 50,000 of them gets no more.
    """
    from bs4.element import Tag

    # Of each part of a table, the rows that a column is still taken for; a cell reaches no further.
    taken: dict[int, Counter[int]] = {}
    padded = 0
    for line in content.find_all("tr"):
        below = taken.setdefault(id(line.parent), Counter())
        cells = [one for one in line.contents if isinstance(one, Tag) and one.name in ("td", "th")]
        column, reaching = 0, {place for place, rows in below.items() if rows > 0}
        below.subtract(reaching)
        for cell in [*cells, None]:
            while column in reaching or (cell is None and column < max(reaching, default=0)):
                if (padded := padded + 1) > _MOST_PADDED:
                    return False
                empty = Tag(name="td")
                if cell is None:
                    line.append(empty)
                else:
                    cell.insert_before(empty)
                column += 1
            if cell is not None:
                for _ in range(_span(cell, "colspan")):
                    below[column] = max(below[column], _span(cell, "rowspan") - 1)
                    column += 1
    return True


def _span(cell: "Tag", name: str) -> int:
    """How many columns or rows a cell takes; down to the end of its part where it says 0 rows."""
    value = str(cell.get(name) or 1)
    span = int(value) if _DIGITS.fullmatch(value) else 1
    return span or (_TALLEST if name == "rowspan" else 1)


#: A browser never shows these as text.
_NO_TEXT = "script, style, noscript, template:not([shadowrootmode]), datalist, noframes, area, track, source"
#: What is shown there is not in the page: what stands inside is for browsers that cannot show it.
_ELSEWHERE = ("iframe", "object", "embed", "canvas", "audio", "video", "frame")
_HIDDEN = "dialog:not([open]), [hidden], [aria-hidden=true], [style*=display i], .katex-html"
_HIDDEN_BY_STYLE = re.compile(r"(?:^|;)\s*+display\s*+:\s*+none\b", re.IGNORECASE)
_OVERLAYS = "[role=dialog], [role=alertdialog], [aria-modal=true]"
_NAVIGATION = "nav, [role=navigation], [role=menu], [role=menubar], [role=search], search"
_FURNITURE = "footer, aside, header, [role=contentinfo], [role=complementary], [role=banner]"
#: A header or footer in one of these is of that part, not of the page.
_PARTS = frozenset(
    {"article", "section", "blockquote", "figure", "td", "li", "details", "dialog", "fieldset"}
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "cite", "code", "dfn", "dt", "em", "figcaption", "i", "kbd", "label", "legend"}
    | {"mark", "p", "q", "s", "small", "span", "strong", "sub", "sup", "u"}
)
_TYPED = frozenset(
    {"", "text", "email", "number", "tel", "url", "date", "datetime-local", "month", "time", "week"}
)
_OWN_RIGHTS = re.compile(
    r"©|(?:\(c\)|\bcopyright)\s*+(?:\(c\)\s*+)?\d{4}|\ball rights reserved\b", re.IGNORECASE
)
#: Words outside of links from which something at the edge of a page is taken to be said to its reader.
_FEWEST_WORDS = 4
#: The same of navigation.
_FEWEST_IN_NAVIGATION = 8
#: Words of a button from which it says something rather than do something.
_FEWEST_OF_BUTTON = 4
_WORD = re.compile(r"\w[\w'’-]*+")


def keep_visible(soup: "BeautifulSoup") -> list[str]:
    """Take out of a page what a browser does not show, and what nobody quotes: navigation, short buttons,
    lines of copyright, lists of links at its edges.

    What opens on a click (accordions, tabs) counts as shown.

    Returns:
        remarks: what was left out, with its words, and what is shown of other addresses.
    """
    remarks = _elsewhere(soup)
    drop(soup, soup.select(_NO_TEXT))
    for svg in list(_outermost(soup.find_all("svg"))):
        _only_text_of(svg)
    _name_formulas(soup)
    openers = _click_openers(soup)
    opened = _opened_by_click(soup, openers)
    drop(soup, [tag for tag in soup.select(_HIDDEN) if _is_hidden(tag, opened)])
    account = Counter[str]()
    _leave_out(soup, "overlays", soup.select(_OVERLAYS), account)
    _leave_out(
        soup,
        "navigation",
        (
            tag
            for tag in _outermost(soup.select(_NAVIGATION))
            if not _has_own_words(tag, _FEWEST_IN_NAVIGATION)
        ),
        account,
    )
    _leave_out(soup, "fields of forms", soup.select("select, option"), account)
    _show_fields(soup)
    _show_buttons(soup, openers, account)
    _leave_out_furniture(soup, account)
    if account:
        told = ", ".join(f"{what} ({plural(words, 'word')})" for what, words in account.items())
        remarks.append(f"left out: {told}")
    return remarks


def _elsewhere(soup: "BeautifulSoup") -> list[str]:
    found = Counter(tag.name for tag in soup.find_all(_ELSEWHERE))
    drop(soup, soup.find_all(_ELSEWHERE))
    return [f"not in the text: {plural(n, f'<{name}> element')}" for name, n in sorted(found.items())]


def _leave_out(root: "Tag", what: str, tags: Iterable["Tag"], account: Counter[str]) -> None:
    gone = list(_outermost(list(tags)))
    words = sum(_count_words(tag) for tag in gone)
    drop(root, gone)
    if words:
        account[what] += words


def _outermost(tags: list["Tag"]) -> Iterator["Tag"]:
    """Those of the tags that stand in no other of them."""
    gone = {id(tag) for tag in tags}
    known: dict[int, bool] = {}
    for tag in tags:
        above, path, inside = tag.parent, [], False
        while above is not None:
            if id(above) in gone or known.get(id(above)):
                inside = True
                break
            if id(above) in known:
                break
            path.append(id(above))
            above = above.parent
        known |= dict.fromkeys(path, inside)
        if not inside:
            yield tag


def _count_words(tag: "Tag") -> int:
    return len(_WORD.findall(tag.get_text(" ")))


def _has_own_words(tag: "Tag", fewest: int = _FEWEST_WORDS) -> bool:
    """Whether it says something besides its links and what belongs to every page of a site."""
    in_links = descendants_of(tag, "a")
    links = words = 0
    for string in tag.find_all(string=True):
        count = len(_WORD.findall(string))
        if id(string) in in_links:
            links += count
        elif not _OWN_RIGHTS.search(string):
            words += count
    return words >= max(fewest, links)


def _click_openers(soup: "BeautifulSoup") -> list["Tag"]:
    """Elements that open something on a click, menus aside."""
    found = soup.select("[aria-expanded], [aria-controls], [data-toggle], [data-bs-toggle], [role=tab]")
    return [tag for tag in found if not tag.get("aria-haspopup")]


def _opened_by_click(soup: "BeautifulSoup", openers: Iterable["Tag"]) -> set[int]:
    """Identities of what opens on a click."""
    ids: set[str] = set()
    opened = {id(tag) for tag in soup.select("[role=tabpanel], [hidden=until-found]")}
    for opener in openers:
        for name in ("aria-controls", "data-target", "data-bs-target", "href"):
            ids.update(part.removeprefix("#") for part in str(opener.get(name) or "").split())
        holder = opener.parent if opener.parent and opener.parent.name in (*_HEADINGS, "dt") else opener
        following = holder.find_next_sibling()
        if following is not None:
            opened.add(id(following))
    return opened | {id(tag) for tag in soup.select("[id]") if tag.get("id") in ids}


def _is_hidden(tag: "Tag", opened: set[int]) -> bool:
    if id(tag) in opened:
        return False
    if tag.has_attr("hidden") or (tag.name == "dialog" and not tag.has_attr("open")):
        return True
    if "katex-html" in (tag.get("class") or ()):
        return True
    if _HIDDEN_BY_STYLE.search(str(tag.get("style") or "")):
        return True
    # Browsers show it: icons and marks of permanent links are little, and nobody quotes them.
    return tag.get("aria-hidden") == "true" and _count_words(tag) < _FEWEST_WORDS


def _only_text_of(svg: "Tag") -> None:
    from bs4.element import NavigableString

    words = [" ".join(text.get_text(" ").split()) for text in _outermost(svg.find_all("text"))]
    svg.clear()
    if any(words):
        svg.name = "p"
        svg.append(NavigableString("; ".join(filter(None, words))))


def _name_formulas(soup: "BeautifulSoup") -> None:
    from bs4.element import NavigableString

    for math in list(_outermost(soup.find_all("math"))):
        source = math.find("annotation", encoding="application/x-tex")
        text = " ".join((source or math).get_text("" if source else " ").split())
        math.clear()
        math.append(NavigableString(text))
        math.name = "span"


def _show_fields(soup: "BeautifulSoup") -> None:
    """Put what is written in a field in its place."""
    from bs4.element import NavigableString

    for field in soup.find_all("input"):
        kind, value = str(field.get("type") or "").lower(), str(field.get("value") or "").strip()
        said = kind in _TYPED or (kind in ("button", "submit") and len(value.split()) >= _FEWEST_OF_BUTTON)
        field.attrs = {}
        if said and value:
            field.name = "span"
            field.append(NavigableString(value))


def _show_buttons(soup: "BeautifulSoup", openers: Iterable["Tag"], account: Counter[str]) -> None:
    kept = {id(tag) for tag in openers} | _within(soup, {*_HEADINGS, "dt"})
    short = []
    for button in list(_outermost(soup.find_all(["button", "summary"]))):
        text = " ".join(button.get_text(" ").split())
        heading = button.find(_HEADINGS)
        says = len(text.split()) >= _FEWEST_OF_BUTTON or text.endswith(("?", ".", ":"))
        if button.name == "button" and not (says or heading or id(button) in kept):
            short.append(button)
            continue
        inline = button.parent is not None and button.parent.name in {*_INLINE, *_HEADINGS}
        button.name = "span" if inline else "div" if heading else "p"
    _leave_out(soup, "buttons", short, account)


def _leave_out_furniture(soup: "BeautifulSoup", account: Counter[str]) -> None:
    mains = [tag for tag in soup.select("main, [role=main]") if tag.get_text(strip=True)]
    around = list(_around(mains[0])) if len(mains) == 1 else []
    of_parts = _within(soup, _PARTS, mains if len(mains) == 1 else ())
    headed, titled = holding(soup.find_all(["h1", "h2", "h3"])), holding(soup.find_all("h1"))
    edges = {
        id(tag): tag
        for tag in (*around, *soup.select(_FURNITURE))
        if id(tag) not in of_parts and id(tag) not in (headed if tag.name == "header" else titled)
    }
    edges = {id(tag): tag for tag in _outermost(list(edges.values()))}
    said = {key: tag for key, tag in edges.items() if _has_own_words(tag) and tag.name != "h1"}
    gone = [tag for key, tag in edges.items() if key not in said and tag.name != "h1"]
    for tag in said.values():
        gone += [
            one
            for one in list(_outermost(tag.find_all(["ul", "ol"])))
            if one.find("a") and not _has_own_words(one)
        ]
        rights = (string.parent for string in tag.find_all(string=_OWN_RIGHTS))
        gone += [one for one in rights if one is not None and one is not tag]
    _leave_out(soup, "edges of the page", gone, account)


def _within(soup: "BeautifulSoup", names: Collection[str], tags: Iterable["Tag"] = ()) -> set[int]:
    """Identities of all that stands in a tag of one of the names, or in one of the tags."""
    found: set[int] = set()
    holders = {id(tag) for tag in tags}
    for element, above in walk(soup):
        holder = above[-1]
        if id(holder) in found or id(holder) in holders or holder.name in names:
            found.add(id(element))
    return found


def _around(main: "Tag") -> Iterator["Tag"]:
    """Elements beside the main part, and their containers."""
    from bs4.element import Tag

    tag: PageElement = main
    while tag.parent is not None and tag.parent.name not in ("html", "[document]"):
        yield from (one for one in tag.parent.contents if one is not tag and isinstance(one, Tag))
        tag = tag.parent
    if tag.parent is not None and tag.parent.name == "[document]":
        yield from (
            one
            for one in tag.parent.contents
            if one is not tag
            and isinstance(one, Tag)
            and one.name not in ("head", "meta", "title", "link", "html")
        )
