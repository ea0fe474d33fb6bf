"""HTML pages: their readable text as light Markdown, without scripts and site navigation."""

import re
from typing import TYPE_CHECKING, Any

from graphrag_dagster.core.corpus.decoding import decode
from graphrag_dagster.core.corpus.records import Reading, Record, Source, clean, one_line

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_DECLARED = re.compile(rb"""(?:charset\s*=|encoding\s*=)\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_NO_TEXT = (
    "script, style, noscript, template, svg, iframe, object, canvas, audio, video, nav, menu, dialog, "
    "button, select, textarea, input, [role=navigation], [role=search], [hidden], [aria-hidden=true], "
    "[style*='display:none'], [style*='display: none']"
)
_FURNITURE = "footer, aside, [role=contentinfo], [role=complementary]"
_FORMATTING = ["a", "b", "strong", "em", "i", "u", "s", "del", "ins", "sub", "sup", "img", "code", "mark"]
_PROPERTIES = {
    "date": ("article:published_time", "datepublished", "date", "dc.date", "dcterms.date"),
    "author": ("author", "article:author", "dc.creator"),
    "description": ("description", "og:description"),
}
_BLANKS = re.compile(r"\s+")
_TABLE_RULE = re.compile(r"^\|(?: *-+ *\|)+\n", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{3,}")


def read_html(data: bytes, _source: Source) -> Reading:
    """Read the main content of a page; the title is ``<title>``, else the first ``<h1>``.

    Raises:
        RefusedError: not text.
    """
    declared = _DECLARED.search(data[:4096])
    decoded = decode(data, declared[1].decode("ascii") if declared else None)
    soup = parse(decoded.text)
    heading = soup.find("h1")
    title = one_line(soup.title.get_text()) if soup.title else None
    properties = _meta(soup)
    record = Record(
        to_text(soup),
        title=title or (one_line(heading.get_text(" ")) if heading else None),
        date=properties.pop("date", None),
        metadata=properties,
    )
    return Reading((record,), decoded.encoding, decoded.notes)


def parse(markup: str) -> "BeautifulSoup":
    """Parse HTML, however broken."""
    import warnings

    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return BeautifulSoup(markup, "html.parser")
        except (ParserRejectedMarkup, AssertionError):
            return BeautifulSoup(re.sub(r"<!\[?|<\?", "&lt;", markup), "html.parser")


def to_text(soup: "BeautifulSoup") -> str:
    """Return the text of the page's content: headings with ``#``, list items with ``-``, each paragraph on
    one line, tables as rows with ``|``; links and emphasis as their words alone.
    """
    for tag in soup.select(_NO_TEXT):
        tag.decompose()
    content = _content(soup)
    _fold_blanks(content)
    try:
        text = _converter().convert_soup(content)
    except RecursionError:
        text = content.get_text("\n", strip=True)
    text = _TABLE_RULE.sub("", "\n".join(line.rstrip() for line in text.split("\n")))
    return clean(_EMPTY_LINES.sub("\n\n", text).strip())


def _content(soup: "BeautifulSoup") -> "Tag":
    mains = [tag for tag in soup.select("main, [role=main]") if tag.get_text(strip=True)]
    if len(mains) == 1:
        return mains[0]
    body = soup.body or soup
    for tag in body.select(_FURNITURE):
        if tag.find_parent("article") is None:
            tag.decompose()
    for header in body.select("header"):
        if header.find_parent("article") is None and header.find(["h1", "h2"]) is None:
            header.decompose()
    return body


def _fold_blanks(content: "Tag") -> None:
    from bs4.element import NavigableString

    for string in list(content.find_all(string=True)):
        if type(string) is NavigableString and string.find_parent("pre") is None:
            string.replace_with(NavigableString(_BLANKS.sub(" ", string)))


def _converter() -> Any:
    from markdownify import MarkdownConverter

    return MarkdownConverter(
        heading_style="atx",
        bullets="-",
        strip=_FORMATTING,
        table_infer_header=True,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )


def _meta(soup: "BeautifulSoup") -> dict[str, str]:
    found: dict[str, str] = {}
    for tag in soup.find_all("meta"):
        name = str(tag.get("property") or tag.get("name") or tag.get("itemprop") or "").casefold()
        value = one_line(str(tag.get("content") or ""))
        if name and value:
            found.setdefault(name, value)
    chosen = {
        role: next((found[name] for name in names if name in found), None)
        for role, names in _PROPERTIES.items()
    }
    return {role: value for role, value in chosen.items() if value}
