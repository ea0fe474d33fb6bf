"""Removes from a web page's tree whatever a browser does not show its reader, and counts it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.documents.readers.markup.html_tree import drop, holding, inside, walk

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from bs4.element import PageElement

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
_OWN_RIGHTS = re.compile(r"©|\(c\)\s|\bcopyright\b|\ball rights reserved\b", re.IGNORECASE)
#: Words outside of links from which something at the edge of a page is taken to be said to its reader.
_FEWEST_WORDS = 4
#: The same of navigation.
_FEWEST_IN_NAVIGATION = 8
#: Words of a button from which it says something rather than do something.
_FEWEST_OF_BUTTON = 4
_WORD = re.compile(r"\w[\w'’-]*+")


def keep_what_is_shown(soup: "BeautifulSoup") -> list[str]:
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
    openers = _openers(soup)
    opened = _opened(soup, openers)
    drop(soup, [tag for tag in soup.select(_HIDDEN) if _is_hidden(tag, opened)])
    account = Counter[str]()
    _leave_out(soup, "overlays", soup.select(_OVERLAYS), account)
    _leave_out(
        soup,
        "navigation",
        (tag for tag in _outermost(soup.select(_NAVIGATION)) if not _said(tag, _FEWEST_IN_NAVIGATION)),
        account,
    )
    _leave_out(soup, "fields of forms", soup.select("select, option"), account)
    _show_fields(soup)
    _show_buttons(soup, openers, account)
    _leave_out_furniture(soup, account)
    if account:
        told = ", ".join(f"{what} ({counted(words, 'word')})" for what, words in account.items())
        remarks.append(f"left out: {told}")
    return remarks


def _elsewhere(soup: "BeautifulSoup") -> list[str]:
    found = Counter(tag.name for tag in soup.find_all(_ELSEWHERE))
    drop(soup, soup.find_all(_ELSEWHERE))
    return [f"not in the text: {counted(n, f'<{name}> element')}" for name, n in sorted(found.items())]


def _leave_out(root: "Tag", what: str, tags: Iterable["Tag"], account: Counter[str]) -> None:
    gone = list(_outermost(list(tags)))
    words = sum(_words(tag) for tag in gone)
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


def _words(tag: "Tag") -> int:
    return len(_WORD.findall(tag.get_text(" ")))


def _said(tag: "Tag", fewest: int = _FEWEST_WORDS) -> bool:
    """Whether it says something besides its links and what belongs to every page of a site."""
    in_links = inside(tag, "a")
    links = words = 0
    for string in tag.find_all(string=True):
        count = len(_WORD.findall(string))
        if id(string) in in_links:
            links += count
        elif not _OWN_RIGHTS.search(string):
            words += count
    return words >= max(fewest, links)


def _openers(soup: "BeautifulSoup") -> list["Tag"]:
    """Elements that open something on a click, menus aside."""
    found = soup.select("[aria-expanded], [aria-controls], [data-toggle], [data-bs-toggle], [role=tab]")
    return [tag for tag in found if not tag.get("aria-haspopup")]


def _opened(soup: "BeautifulSoup", openers: Iterable["Tag"]) -> set[int]:
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
    return tag.get("aria-hidden") == "true" and _words(tag) < _FEWEST_WORDS


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
    beside = list(_beside(mains[0])) if len(mains) == 1 else []
    of_parts = _within(soup, _PARTS, mains if len(mains) == 1 else ())
    headed, titled = holding(soup.find_all(["h1", "h2", "h3"])), holding(soup.find_all("h1"))
    edges = {
        id(tag): tag
        for tag in (*beside, *soup.select(_FURNITURE))
        if id(tag) not in of_parts and id(tag) not in (headed if tag.name == "header" else titled)
    }
    edges = {id(tag): tag for tag in _outermost(list(edges.values()))}
    said = {key: tag for key, tag in edges.items() if _said(tag) and tag.name != "h1"}
    gone = [tag for key, tag in edges.items() if key not in said and tag.name != "h1"]
    for tag in said.values():
        gone += [
            one for one in list(_outermost(tag.find_all(["ul", "ol"]))) if one.find("a") and not _said(one)
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


def _beside(main: "Tag") -> Iterator["Tag"]:
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
