"""HTML pages: the text that a browser shows, as light Markdown, without navigation."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    UnreadableError,
    clean,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.html_cleaning import (
    convertible,
    drop_unshown,
    keep_visible,
    pad_rows,
)
from graphrag_dagster.kernel.documents.text_decoding import decode

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_DECLARED = re.compile(rb"""(?:charset\s*+=|encoding\s*+=)\s*+["']?\s*+([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_FORMATTING = ["a", "b", "strong", "em", "i", "u", "s", "del", "ins", "sub", "sup", "img", "code", "mark"]
_PROPERTIES = {
    "date": ("article:published_time", "datepublished", "date", "dc.date", "dcterms.date"),
    "author": ("author", "article:author", "dc.creator"),
    "description": ("description", "og:description"),
}
_BLANKS = re.compile("[ \xa0]+")
_TABLE_RULE = re.compile(r"^\|(?: *-+ *\|)+\n", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{3,}")


def read_html(data: bytes, _source: SourceFile) -> Reading:
    """Read the text that a page shows; the title is ``<title>``, else the first ``<h1>``.

    Raises:
        RefusedError: not text.
    """
    declared = _DECLARED.search(data[:4096])
    decoded = decode(data, declared[1].decode("ascii") if declared else None)
    soup = parse(decoded.text)
    heading = soup.find("h1")
    title = one_line(soup.title.get_text()) if soup.title else None
    properties = _meta_properties(soup)
    scripts = soup.find("script") is not None
    shown = to_text(soup)
    record = FileRecord(
        shown.text,
        title=title or (one_line(heading.get_text(" ")) if heading else None),
        date=properties.pop("date", None),
        metadata=properties,
    )
    notes = decoded.notes
    if scripts and not shown.text:
        notes += ("no text was found: scripts make what it shows; save the page as a browser shows it",)
    return Reading((record,), decoded.encoding, notes, shown.remarks)


def read_mhtml(data: bytes, source: SourceFile) -> Reading:
    """Read a page that a browser saved as one file, by its first part that is HTML.

    Raises:
        RefusedError: not text.
        UnreadableError: it holds no page.
    """
    import email
    from email import policy

    for part in email.message_from_bytes(data, policy=policy.compat32).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            page = part.get_payload(decode=True)
            if isinstance(page, bytes):
                return read_html(page, source)
    raise UnreadableError("no web page is in it; save the page again, as HTML or MHTML")


class ShownPage(NamedTuple):
    """The text of a page, and remarks on what was left out of it."""

    text: str
    remarks: tuple[str, ...] = ()


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


def to_text(soup: "BeautifulSoup") -> ShownPage:
    """Return the text that a page shows: headings with ``#``, list items with ``-``, each paragraph on one
    line, tables as rows with ``|``; links and emphasis as their words alone.

    A page that is nested or repeats itself beyond reason gives its words alone, line by line; a remark then
    says so.
    """
    remarks = drop_unshown(soup)
    text = _converted(soup, remarks)
    text = _BLANKS.sub(lambda found: " " if "\xa0" in found[0] else found[0], text)
    text = _TABLE_RULE.sub("", "\n".join(line.rstrip() for line in text.split("\n")))
    text = clean(_EMPTY_LINES.sub("\n\n", text).strip())
    return ShownPage(text, tuple(remarks))


def _converted(soup: "BeautifulSoup", remarks: list[str]) -> str:
    content = soup.body or soup
    if convertible(content):
        remarks += keep_visible(soup)
        if not pad_rows(content):
            remarks.append("cells over several rows are beyond measure, and not all padded")
        try:
            return str(_converter().convert_soup(content))
        # Where the library meets what it does not expect, the words are there all the same.
        except (RecursionError, ValueError, TypeError, AttributeError):
            pass
    remarks.append("its markup is beyond measure, so only its words were read")
    return content.get_text("\n", strip=True)


def _converter() -> Any:
    from markdownify import MarkdownConverter

    return MarkdownConverter(
        heading_style="atx",
        bullets="-",
        strip=_FORMATTING,
        wrap=True,
        wrap_width=None,
        table_infer_header=True,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )


def _meta_properties(soup: "BeautifulSoup") -> dict[str, str]:
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
