"""Org and AsciiDoc as light Markdown, without their markup."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from graphrag_dagster.kernel.documents.file_records import FileRecord, Reading, SourceFile
from graphrag_dagster.kernel.documents.readers.html import parse, to_text
from graphrag_dagster.kernel.documents.readers.markdown import title_heading
from graphrag_dagster.kernel.documents.readers.office.xml_packages import note_of_counts, row
from graphrag_dagster.kernel.documents.text_decoding import decode

_EMPTY_LINES = re.compile(r"\n{3,}")


def reading_of_markdown(
    lines: list[str],
    decoded: tuple[str | None, tuple[str, ...]],
    facts: dict[str, str],
    missing: Counter[str],
    left: Counter[str],
) -> Reading:
    """Return the reading of lines of Markdown.

    Args:
        lines: of the text.
        decoded: the encoding, and notes on it.
        facts: metadata; ``title`` and ``date`` are taken out of it.
        missing: what is not in the text, though it should be.
        left: what is not shown of the file.
    """
    text = _EMPTY_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")
    record = FileRecord(
        text,
        title=facts.pop("title", None) or title_heading(text),
        date=facts.pop("date", None),
        metadata=facts,
    )
    encoding, notes = decoded
    return Reading(
        (record,),
        encoding,
        (*notes, *note_of_counts("not in the text", missing)),
        note_of_counts("left out", left),
    )


def html_lines(markup: str) -> list[str]:
    """Return what HTML inside another markup shows, as lines."""
    return to_text(parse(markup)).text.split("\n")


_ORG_HEADING = re.compile(r"(\*+)[ \t]+(.*)")
_ORG_KEYWORD = re.compile(r"#\+([A-Za-z_]+):[ \t]*(.*)")
_ORG_BLOCK = re.compile(r"#\+begin_(\w+)(.*)", re.IGNORECASE)
_ORG_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")
_ORG_STATE = re.compile(r"(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED|CANCELED|COMMENT)[ \t]+)?(?:\[#\w\][ \t]+)?")
_ORG_LINK = re.compile(r"\[\[([^\[\]]{1,2000})\](?:\[([^\[\]]{1,2000})\])?\]")
_ORG_MARKED = re.compile(r"(?<![\w*/_=~+])([*/_=~+])(?=\S)((?:(?!\1)[^\n]){1,300}?)(?<=\S)\1(?![\w*/_=~+])")
_ORG_NOTE = re.compile(r"\[fn:([^\[\]:]{1,100})\]")
_VERBATIM = frozenset({"src", "example"})
_BLOCKS = _VERBATIM | {"comment", "export"}


def read_org(data: bytes, _source: SourceFile) -> Reading:
    """Read an Org file: headings, text, tables, blocks; not comments and drawers. Included files are noted.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    facts: dict[str, str] = {}
    missing, left = Counter[str](), Counter[str]()
    lines = list(_org_lines(iter(decoded.text.split("\n")), facts, missing, left))
    return reading_of_markdown(lines, (decoded.encoding, decoded.notes), facts, missing, left)


def _org_lines(
    lines: Iterator[str], facts: dict[str, str], missing: Counter[str], left: Counter[str]
) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        block = _ORG_BLOCK.match(bare)
        if block and block[1].lower() in _BLOCKS:
            yield from _org_block(block[1].lower(), block[2].strip(), lines, left)
        elif keyword := _ORG_KEYWORD.match(bare):
            yield from _org_keyword(keyword[1].lower(), keyword[2], facts, missing, left)
        elif bare.lower().startswith(("#+begin", "#+end")):
            yield ""
        elif bare.startswith("#+"):
            left["setting"] += 1
        elif bare == "#" or bare.startswith("# "):
            left["comment"] += 1
        elif bare.upper() in (":PROPERTIES:", ":LOGBOOK:"):
            left["drawer"] += 1
            _until(lines, ":end:")
        else:
            yield from _org_line(line, bare)


def _org_line(line: str, bare: str) -> Iterator[str]:
    if heading := _ORG_HEADING.fullmatch(line):
        said = _ORG_STATE.sub("", _ORG_TAGS.sub("", heading[2]), count=1)
        yield f"{'#' * min(len(heading[1]), 6)} {_org_inline(said)}"
    elif bare.startswith("|"):
        if not bare.startswith("|-"):
            yield row(map(_org_inline, bare.strip("|").split("|")))
    elif not re.fullmatch(r"-{5,}", bare):
        yield _org_inline(bare[2:] if bare.startswith(": ") else line)


def _until(lines: Iterator[str], end: str) -> list[str]:
    """Take lines up to one that begins so, in whatever letters."""
    return list(takewhile(lambda line: not line.strip().lower().startswith(end), lines))


def _org_keyword(
    name: str, value: str, facts: dict[str, str], missing: Counter[str], left: Counter[str]
) -> Iterator[str]:
    if name in ("title", "date", "author", "description", "subtitle"):
        facts.setdefault(name, _org_inline(value).strip("<>[] "))
    elif name == "include":
        missing["included file"] += 1
    elif name in ("caption", "text"):
        yield _org_inline(value)
    elif name == "html":
        yield from html_lines(value)
    else:
        left["setting"] += 1


def _org_block(name: str, about: str, lines: Iterator[str], left: Counter[str]) -> Iterator[str]:
    inside = _until(lines, f"#+end_{name}")
    if name == "comment":
        left["comment"] += 1
    elif name in _VERBATIM:
        yield from fence_code(
            [line.removeprefix(",") for line in inside], about.split()[0] if about and name == "src" else ""
        )
    elif name == "export" and about.lower().startswith("html"):
        yield from html_lines("\n".join(inside))
    else:
        left[f"block for {about.split()[0][:20] if about else 'export'}"] += 1


def fence_code(lines: list[str], language: str = "") -> list[str]:
    """Return lines of code as a block of Markdown, without the indentation they share."""
    said = [place for place, line in enumerate(lines) if line.strip()]
    lines = lines[said[0] : said[-1] + 1] if said else []
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return ["", f"```{language}", *(line[margin:] for line in lines), "```", ""]


def _org_inline(line: str) -> str:
    line = _ORG_LINK.sub(lambda found: found[2] or found[1], line)
    line = _ORG_NOTE.sub(r"[\1]", line)
    return _ORG_MARKED.sub(r"\2", line)


_ADOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ADOC_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?")
_ADOC_FENCES = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```\w*|[|,:!]={3,}")
_ADOC_MACRO = re.compile(r"(include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::([^\[\]]*)\[(.*)\]")
_ADOC_ITEM = re.compile(r"(\*{1,6}|\.{1,6}|-)[ \t]+(\S.*)")
_ADOC_TERM = re.compile(r"(\S.{0,200}?)(?:::{1,3}|;;)(?:[ \t]+(.*))?")
_ADOC_LINK = re.compile(
    r"(?:\blink:|\bxref:|\bmailto:|(?=https?://))([^\s\[\]]{1,2000})\[([^\[\]]{0,2000})\]"
)
_ADOC_CROSS = re.compile(r"<<([^<>,]{1,200})(?:,[ ]?([^<>]{1,500}))?>>")
_ADOC_NOTE = re.compile(r"\b(?:footnote|footnoteref):[\w-]*\[([^\[\]]{1,2000})\]")
_ADOC_SAID = re.compile(
    r"\b(?:kbd|btn|menu|icon|stem|latexmath|asciimath|pass|image):(\S{0,200}?)\[([^\[\]]{0,500})\]"
)
_ADOC_MARKED = re.compile(
    r"(?<![\w*_`#])(?:\[[^\[\]]{0,100}\])?([*_`#])(?=\S)((?:(?!\1)[^\n]){1,300}?)(?<=\S)\1(?![\w*_`#])"
)
_ADOC_DOUBLED = re.compile(r"(\*\*|__|``|##)(?=\S)((?:(?!\1)[^\n]){1,300}?)\1")
_ADOC_NAMED = re.compile(r"\{([\w-]{1,100})\}")
#: How a cell is set, before its sign: spans, alignment, style.
_ADOC_CELL = re.compile(r"(?:(?<=\s)|^)(?:\d{1,3}[.+*]\d{0,3}[+*]?|[.+*]?\d{1,3}[+*])?[<^>]?[aehlmsvd]$")
_REVISION = re.compile(r"(?:v[\w.]+,?[ \t]*)?(\d{4}-\d\d-\d\d)?.*")


def read_adoc(data: bytes, _source: SourceFile) -> Reading:
    """Read an AsciiDoc file: headings, text, lists, tables, blocks; not comments. Included files are noted.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    reading = _Adoc()
    lines = list(reading.lines(iter(decoded.text.split("\n")), top=True))
    return reading_of_markdown(
        lines, (decoded.encoding, decoded.notes), reading.facts, reading.missing, reading.left
    )


#: Blocks whose lines are read as a whole: listings, comments, HTML, tables.
_WHOLE = ("----", "....", "```", "////", "++++", "|", ",", ":", "!")


class _Adoc:
    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.missing: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self._named: dict[str, str] = {}
        self._quoted = ""
        self._language = ""
        self._open: dict[str, str] = {}

    def lines(self, lines: Iterator[str], *, top: bool = False) -> Iterator[str]:
        header = top
        for line in lines:
            bare = line.strip()
            if header and not bare and "title" in self.facts:
                header = False
            if header and self._take_header_line(bare):
                if bare.startswith("= "):
                    yield f"# {self._inline(bare[2:])}"
                continue
            header = header and not bare
            yield from self._line(line, bare, lines)

    def _take_header_line(self, bare: str) -> bool:
        """Take a line of the head of the document: title, author, revision, attributes, comments."""
        if bare.startswith("= ") and "title" not in self.facts:
            self.facts["title"] = self._inline(bare[2:])
        elif _ADOC_ATTRIBUTE.fullmatch(bare):
            self._attribute(bare)
        elif bare.startswith("//"):
            self.left["comment"] += 1
        elif (
            "title" in self.facts and bare and "author" not in self.facts and not _ADOC_FENCES.fullmatch(bare)
        ):
            self.facts["author"] = re.sub(r"\s*<[^<>]*>", "", bare)
        elif (
            "author" in self.facts
            and "date" not in self.facts
            and (found := _REVISION.fullmatch(bare))
            and found[1]
        ):
            self.facts["date"] = found[1]
        else:
            return False
        return True

    def _attribute(self, bare: str) -> None:
        found = _ADOC_ATTRIBUTE.fullmatch(bare)
        if found:
            self._named[found[1]] = (found[2] or "").strip()
            if found[1] in ("author", "description", "keywords") and found[2]:
                self.facts.setdefault(found[1], found[2].strip())
            elif found[1] == "revdate" and found[2]:
                self.facts.setdefault("date", found[2].strip())

    def _line(self, line: str, bare: str, lines: Iterator[str]) -> Iterator[str]:
        if _ADOC_FENCES.fullmatch(bare):
            yield from self._block(bare, lines)
        elif bare.startswith("//"):
            self.left["comment"] += 1
        elif macro := _ADOC_MACRO.fullmatch(bare):
            yield from self._macro(macro[1], macro[3])
        elif _ADOC_ATTRIBUTE.fullmatch(bare):
            self._attribute(bare)
        elif bare.startswith("[") and bare.endswith("]") and not bare.startswith("[["):
            self._take_block_attributes(bare[1:-1])
        elif bare in ("+", "'''", "<<<", "---", "***") or (bare.startswith("[[") and bare.endswith("]]")):
            yield ""
        else:
            yield from self._text_line(line, bare)

    def _text_line(self, line: str, bare: str) -> Iterator[str]:
        if heading := _ADOC_HEADING.fullmatch(bare):
            yield f"{'#' * len(heading[1])} {self._inline(heading[2].rstrip('= '))}"
        elif re.fullmatch(r"\.[^\s.].*", bare):
            yield self._inline(bare[1:])
        elif item := _ADOC_ITEM.fullmatch(bare):
            mark = "1." if item[1].startswith(".") else "-"
            yield f"{'  ' * (len(item[1]) - 1)}{mark} {self._inline(item[2])}"
        elif (term := _ADOC_TERM.fullmatch(bare)) and "://" not in term[1]:
            yield f"{self._inline(term[1])}: {self._inline(term[2] or '')}".rstrip()
        else:
            yield self._inline(line.removesuffix(" +"))

    def _take_block_attributes(self, said: str) -> None:
        parts = [part.strip(" \"'") for part in said.split(",")]
        if parts[0] in ("quote", "verse"):
            self._quoted = ", ".join(filter(None, parts[1:3]))
        self._language = parts[1] if parts[0] == "source" and len(parts) > 1 else ""

    def _macro(self, name: str, said: str) -> Iterator[str]:
        if name == "include":
            self.missing["included file"] += 1
        elif name in ("image", "video", "audio"):
            alt = said.split(",")[0].strip(' "')
            if alt and "=" not in alt:
                yield alt
            else:
                self.left["picture" if name == "image" else name] += 1
        elif name.startswith("if") and said and name != "ifeval":
            yield self._inline(said)

    def _block(self, fence: str, lines: Iterator[str]) -> Iterator[str]:
        if not fence.startswith(_WHOLE):
            yield from self._mark(fence)
            return
        end = "```" if fence.startswith("```") else fence
        inside = list(takewhile(lambda one: one.strip() != end, lines))
        language, self._language = self._language, ""
        if fence[0] in "|,:!":
            yield from self._table(inside, fence[0])
        elif fence.startswith("////"):
            self.left["comment"] += 1
        elif fence.startswith("++++"):
            yield from html_lines("\n".join(inside))
        else:
            yield from fence_code(inside, language or fence.removeprefix("```").strip("-. "))

    def _mark(self, fence: str) -> Iterator[str]:
        """Begin or end an example, a quotation or the like."""
        if fence not in self._open:
            self._open[fence], self._quoted = self._quoted, ""
        elif quoted := self._open.pop(fence):
            yield f"— {self._inline(quoted)}"

    def _table(self, lines: list[str], kind: str) -> Iterator[str]:
        if kind in ",:":
            yield from (row(map(self._inline, line.split(kind))) for line in lines if line.strip())
            return
        cells: list[str] = []
        width = 0
        for line in [*lines, ""]:
            if line.lstrip().startswith(kind):
                found = [
                    self._inline(_ADOC_CELL.sub("", one).strip()) for one in line.strip().split(kind)[1:]
                ]
                if not width:
                    width = len(found)
                cells += found
            elif line.strip() and cells:
                cells[-1] += f" {self._inline(line.strip())}"
            while width and len(cells) >= width and (not line.strip() or len(cells) > width):
                yield row(cells[:width])
                cells = cells[width:]
        if cells:
            yield row(cells)

    def _inline(self, text: str) -> str:
        text = _ADOC_NOTE.sub(r" (\1)", text)
        text = _ADOC_SAID.sub(lambda found: found[2] or found[1], text)
        text = _ADOC_LINK.sub(lambda found: found[2].split(",")[0].rstrip("^") or found[1], text)
        text = _ADOC_CROSS.sub(lambda found: found[2] or found[1], text)
        text = _ADOC_NAMED.sub(lambda found: self._named.get(found[1], found[0]), text)
        text = _ADOC_DOUBLED.sub(r"\2", text)
        return _ADOC_MARKED.sub(r"\2", text)
