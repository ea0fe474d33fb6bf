"""Removes from a web page whatever a browser does not show its reader, and bounds what a page may ask for."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.common.printable import plural

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

#: Levels that the conversion to Markdown, which calls itself, reaches in every Python.
_MOST_LEVELS = 120
#: Items of a numbered list, rows of a table's head, heads and bodies: each is compared with those before.
_MOST_ALIKE = {"ol li": 1500, "thead tr": 100, "tbody": 1500, "thead": 100}
#: Columns and rows that a cell may span, and empty cells that a page is given for them.
_WIDEST, _TALLEST, _MOST_PADDED = 50, 65_534, 50_000
_BLANK_RUN = re.compile(r"[ \n]{1500}")
_DIGITS = re.compile(r"[0-9]{1,6}")


def convertible(content: "Tag") -> bool:
    """Whether a page is of a kind that the conversion to Markdown masters in reasonable time.

    Numbers in attributes that it would follow without bound are taken away.
    """
    from bs4.element import Tag

    levels = {id(content): 0}
    alike: Counter[tuple[int, str]] = Counter()
    for tag in content.descendants:
        if not isinstance(tag, Tag) or tag.parent is None:
            continue
        levels[id(tag)] = levels[id(tag.parent)] + 1
        _drop_extreme_attributes(tag)
        alike[id(tag.parent), tag.name] += 1
        most = _MOST_ALIKE.get(f"{tag.parent.name} {tag.name}") or _MOST_ALIKE.get(tag.name)
        if levels[id(tag)] > _MOST_LEVELS or (most and alike[id(tag.parent), tag.name] > most):
            return False
    return not any(_BLANK_RUN.search(pre.get_text()) for pre in content.find_all("pre"))


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
    span = int(str(cell.get(name) or 1))
    return span or (_TALLEST if name == "rowspan" else 1)


#: A browser never shows these as text.
_NO_TEXT = "script, style, noscript, template:not([shadowrootmode]), datalist, noframes, .katex-html"
#: What is shown there is not in the page: what stands inside is for browsers that cannot show it.
_ELSEWHERE = ("iframe", "object", "embed", "canvas", "audio", "video", "frame")
_HIDDEN = "dialog:not([open]), [hidden], [aria-hidden=true], [style*=display i]"
_HIDDEN_BY_STYLE = re.compile(r"(?:^|;)\s*+display\s*+:\s*+none\b", re.IGNORECASE)
_OVERLAYS = "[role=dialog], [role=alertdialog], [aria-modal=true]"
_NAVIGATION = "nav, [role=navigation], [role=menu], [role=menubar], [role=search], search"
#: A header or footer of an article is of that, not of the page.
_EDGES = "footer, aside, header, [role=contentinfo], [role=complementary], [role=banner]"
_PARTS = "article, section, blockquote, figure, td, li, details, dialog, fieldset"
_OPENERS = "[aria-expanded], [aria-controls], [data-toggle], [data-bs-toggle], [role=tab]"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_FIELDS = frozenset({"", "text", "email", "number", "tel", "url", "date", "month", "time", "week"})
_OWN_RIGHTS = re.compile(
    r"©|(?:\(c\)|\bcopyright)\s*+(?:\(c\)\s*+)?\d{4}|\ball rights reserved\b", re.IGNORECASE
)
#: Words from which a button, or something at the edge of a page outside of its links, is said to the reader.
_FEWEST_WORDS = 4
_WORD = re.compile(r"\w[\w'’-]*+")


def drop_unshown(soup: "BeautifulSoup") -> list[str]:
    """Empty what a browser never shows as text; returns remarks on what is shown of other addresses."""
    found = Counter(tag.name for tag in soup.find_all(_ELSEWHERE))
    _empty((*soup.find_all(_ELSEWHERE), *soup.select(_NO_TEXT)))
    return [f"not in the text: {plural(n, f'<{name}> element')}" for name, n in sorted(found.items())]


def keep_visible(soup: "BeautifulSoup") -> list[str]:
    """Empty what a browser does not show, and what nobody quotes: navigation, short buttons, and what stands
    at the edges of a page and has few words besides links and copyright.

    What opens on a click (accordions, tabs) counts as shown.

    Returns:
        a remark on what was left out, with its words.
    """
    _name_drawings_and_formulas(soup)
    opened = _opened_by_click(soup)
    left = {
        "hidden": _empty(
            tag for tag in soup.select(_HIDDEN) if not tag.decomposed and _is_hidden(tag, opened)
        ),
        "overlays": _empty(soup.select(_OVERLAYS)),
        "navigation": _empty(tag for tag in soup.select(_NAVIGATION) if not _has_own_words(tag)),
        "fields of forms": _empty(soup.select("select, option")),
        "buttons": _show_fields_and_buttons(soup),
        "edges of the page": _empty(tag for tag in list(_edges(soup)) if not _has_own_words(tag)),
    }
    told = ", ".join(f"{what} ({plural(words, 'word')})" for what, words in left.items() if words)
    return [f"left out: {told}"] if told else []


def _empty(tags: Iterable["Tag"]) -> int:
    """Take away what stands in tags, and return how many words that were.

    To take the tags themselves away, the library looks for each among its siblings, one by one.
    """
    words = 0
    for tag in tags:
        if not tag.decomposed:
            words += _count_words(tag)
            tag.clear(decompose=True)
            tag.name, tag.attrs = "span", {}
    return words


def _count_words(tag: "Tag") -> int:
    return len(_WORD.findall(tag.get_text(" ")))


def _has_own_words(tag: "Tag") -> bool:
    """Whether it says something besides its links and what belongs to every page of a site."""
    if tag.decomposed or tag.name == "a":
        return False
    links = sum(map(_count_words, tag.find_all("a")))
    rights = sum(len(_WORD.findall(said)) for said in tag.find_all(string=_OWN_RIGHTS))
    return _count_words(tag) - links - rights >= max(_FEWEST_WORDS, links)


def _opened_by_click(soup: "BeautifulSoup") -> set[int]:
    """Identities of what opens on a click."""
    opened = {id(tag) for tag in soup.select("[role=tabpanel], [hidden=until-found]")}
    ids: set[str] = set()
    for opener in soup.select(f"{_OPENERS}, a[href^='#']"):
        for name in ("aria-controls", "data-target", "data-bs-target", "href"):
            ids.update(part.removeprefix("#") for part in str(opener.get(name) or "").split())
    return opened | {id(tag) for tag in soup.select("[id]") if tag.get("id") in ids}


def _is_hidden(tag: "Tag", opened: set[int]) -> bool:
    if id(tag) in opened:
        return False
    if tag.has_attr("hidden") or tag.name == "dialog" or _HIDDEN_BY_STYLE.search(str(tag.get("style") or "")):
        return True
    # Browsers show it: icons and marks of permanent links are little, and nobody quotes them.
    return tag.get("aria-hidden") == "true" and _count_words(tag) < _FEWEST_WORDS


def _name_drawings_and_formulas(soup: "BeautifulSoup") -> None:
    """Put the words of drawings, and the source of formulas, in their places."""
    for svg in soup.find_all("svg"):
        if not svg.decomposed:
            words = "; ".join(" ".join(text.get_text(" ").split()) for text in svg.find_all("text"))
            svg.clear(decompose=True)
            svg.name, svg.string = "p", words
    for math in soup.find_all("math"):
        if not math.decomposed:
            source = math.find("annotation", encoding="application/x-tex")
            text = " ".join((source or math).get_text("" if source else " ").split())
            math.clear(decompose=True)
            math.name, math.string = "span", text


def _show_fields_and_buttons(soup: "BeautifulSoup") -> int:
    """Put what is written in a field in its place, and empty short buttons; returns their words."""
    for field in soup.find_all("input"):
        kind, value = str(field.get("type") or "").lower(), str(field.get("value") or "").strip()
        if kind in _FIELDS and value:
            field.name, field.string = "span", value
    kept = {
        id(tag)
        for tag in soup.select(f":is({_OPENERS}):not([aria-haspopup]), :is(h1, h2, h3, h4, h5, h6, dt) *")
    }
    short = []
    for button in soup.find_all(["button", "summary"]):
        text = " ".join(button.get_text(" ").split())
        says = len(text.split()) >= _FEWEST_WORDS or text.endswith(("?", ".", ":"))
        if button.name == "summary" or says or button.find(_HEADINGS) or id(button) in kept:
            button.name = (
                "span"
                if id(button) in kept and button.parent and button.parent.name in (*_HEADINGS, "dt")
                else "p"
            )
        else:
            short.append(button)
    return _empty(short)


def _edges(soup: "BeautifulSoup") -> Iterator["Tag"]:
    """Headers and footers of the page, and what stands beside its main part; none with the title in it."""
    headed, titled = _holding(soup, ["h1", "h2", "h3"]), _holding(soup, ["h1"])
    mains = [tag for tag in soup.select("main, [role=main]") if tag.get_text(strip=True)]
    around = _around(mains[0]) if len(mains) == 1 else ()
    for tag in (*around, *soup.select(f":is({_EDGES}):not(:is({_PARTS}, main, [role=main]) *)")):
        if id(tag) not in (headed if tag.name == "header" else titled) and tag.name != "h1":
            yield tag


def _around(main: "Tag") -> Iterator["Tag"]:
    """Elements beside the main part, and beside what holds it."""
    for tag in (main, *main.parents):
        if tag.name not in ("html", "[document]"):
            yield from (*tag.find_previous_siblings(), *tag.find_next_siblings())


def _holding(soup: "BeautifulSoup", names: list[str]) -> set[int]:
    """Identities of all tags that hold at least one of a name."""
    found: set[int] = set()
    for tag in soup.find_all(names):
        for parent in tag.parents:
            if id(parent) in found:
                break
            found.add(id(parent))
    return found
