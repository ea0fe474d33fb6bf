"""Blocks of a text: headings, paragraphs, list items, rows, code, turns of speakers, with exact positions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, zip_longest
from textwrap import dedent
from typing import TYPE_CHECKING, Literal

from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.quotable_sentences import speaker_before

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BlockKind = Literal[
    "heading", "paragraph", "list item", "table header", "table row", "code", "quotation", "turn", "markup"
]

#: Nesting from which lists and quotations are text: each level is parsed by itself.
_DEEPEST = 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
#: Signs of lists that Markdown does not know.
_SIGN = re.compile(r"[ \t]*(?:[•‣▪◦●○·–—]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})\))[ \t]+(?=\S)")
#: A line that is bold as a whole stands for a heading, of this level.
_BOLD = re.compile(r"(?:\*\*|__)(?P<said>[^*_\n]{1,80}?)(?:\*\*|__):?\Z")
_BOLD_LEVEL = 7
#: A line of signs below a title, as reStructuredText has more of than Markdown, and the order of its levels.
_ADORNMENT = re.compile(r"(?P<sign>[!-/:-@\[-`{-~])(?P=sign){2,}\Z")
_ADORNMENTS = "=-~^\"'`"
#: A title above tildes, which would open a fence of Markdown.
_ABOVE_TILDES = re.compile(
    r"(?P<title>^[^\s~][^\n]*\n)(?P<signs>~{3,})(?=[ \t]*\n[ \t]*(?:\n|\Z)|[ \t]*\Z)", re.MULTILINE
)
#: Anchors and comments; and a directive of reStructuredText whose indented lines are code.
_MARKUP = re.compile(r"\.\. (?![^\n]*\w::)|<!--|\[[^\]\n]+\]: \S+\Z")
_CODE_FOLLOWS = re.compile(r"\.\. (?:code(?:-block)?|sourcecode|literalinclude|raw|parsed-literal|prompt)::")
#: Share of signs of code among the characters from which indented lines are code without an introduction.
_CODE_SHARE = 0.06
_CODE_SIGN = re.compile(r"[{}\[\]<>=_\\|$#@^~;()]")
#: Characters that are looked at of the line before indented lines.
_BEFORE = 500


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text.

    Attributes:
        kind: what it is; ``markup`` is nothing to be read: a rule, an anchor, a comment.
        level: of a heading 1 to 6, 7 for a bold line; of a list item its depth from 1; else 0.
        path: the headings that it stands under, the highest first.
        parent: place of the block that it belongs to: of a list item the line or item that introduces it,
            of a row its header, of all else the heading above; None at the top.
        span: its characters, up to where the next begins.
    """

    kind: BlockKind
    level: int
    path: tuple[str, ...]
    parent: int | None
    span: Span


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text in their order; together they are all its characters, each once.

    What is Markdown is read as such (CommonMark with tables, :mod:`markdown_it`); besides, lists with other
    signs, titles with other adornments, and turns of speakers. Indented lines are code where a colon or a
    directive introduces them, or their characters are those of code; else they are read without the indent.
    """
    if not text:
        return []
    reader = _Reader(text)
    lines = [found.start() for found in re.finditer(r"^", text, re.MULTILINE)]
    reader.read(text, [*lines, len(text)])
    return list(_placed(text, reader.parts or [_Part("paragraph", 0)]))


def places_to_cut(text: str, blocks: Sequence[Block]) -> list[int]:
    """Return where a text may be cut: before each block but those that an introduction belongs to.

    A heading stays with what stands below it, a line that ends in a colon with what it introduces.
    """
    places = [0] if text else []
    for one, following in pairwise(blocks):
        introduces = one.kind in {"heading", "table header"} or _ends_in_colon(text, one.span)
        if not introduces:
            places.append(following.span.start)
    return places


def _ends_in_colon(text: str, span: Span) -> bool:
    return text[max(span.end - _BEFORE, span.start) : span.end].rstrip().endswith(":")


@dataclass(frozen=True, slots=True)
class _Part:
    kind: BlockKind
    start: int
    level: int = 0
    name: str = ""


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")
    # Links and emphasis are of no interest here, and take most of the time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    # Defined as a reference, a link would not be text.
    parser.block.ruler.disable("reference")
    return parser


@dataclass(slots=True)
class _Reader:
    """Collects the parts of a text in their order, each with its start."""

    text: str
    parts: list[_Part] = field(default_factory=list)
    _depth: int = 0
    _quoted: int = 0
    _item: int | None = None
    _in_header: bool = False
    _indents: int = 0

    def read(self, source: str, lines: Sequence[int]) -> None:
        """Add the parts of a source, whose lines begin at these places of the text, which the last ends."""
        # To the parser a carriage return ends a line.
        source = _ABOVE_TILDES.sub(_as_dashes, source.replace("\r", " "))
        tokens = _parser().parse(source)
        for token, following in zip_longest(tokens, tokens[1:]):
            self._count(token)
            # The parser counts a last empty line or not.
            if token.map and token.map[0] < len(lines) - 1:
                first, last = token.map[0], min(token.map[1], len(lines) - 1)
                self._add_token(token, following, lines[first : last + 1])

    def _count(self, token: "Token") -> None:
        if token.type in {"bullet_list_open", "bullet_list_close", "ordered_list_open", "ordered_list_close"}:
            self._depth += token.nesting
        elif token.type in {"blockquote_open", "blockquote_close"}:
            self._quoted += token.nesting
        elif token.type in {"thead_open", "thead_close"}:
            self._in_header = token.nesting > 0

    def _add_token(self, token: "Token", following: "Token | None", lines: Sequence[int]) -> None:
        start, end = lines[0], lines[-1]
        match token.type:
            case "list_item_open":
                self._item = start
                self._add("list item", start, self._depth)
            case "heading_open":
                name = following.content if following else ""
                level = int(token.tag[1])
                if token.markup in {"=", "-"}:
                    level = _level(self.text[lines[-2] : end].strip())
                self._add("heading", start, level, " ".join(name.split()))
            case "tr_open":
                self._add("table header" if self._in_header else "table row", start)
            case "fence":
                self._add("code", start)
            case "hr":
                self._add("markup", start)
            case "code_block" if self._is_code(start, end):
                self._add("code", start)
            case "code_block" if self._indents < _DEEPEST:
                self._indents += 1
                self.read(dedent(self.text[start:end]), lines)
                self._indents -= 1
            # The words of an item are the item, not a paragraph in it.
            case "paragraph_open" | "html_block" | "code_block" if not (self._depth and start == self._item):
                self._add_lines(start, end)

    def _add(self, kind: BlockKind, start: int, level: int = 0, name: str = "") -> None:
        # A list and its first item begin at one place.
        if not self.parts or start > self.parts[-1].start:
            self.parts.append(_Part(kind, start, level, name))

    def _is_code(self, start: int, end: int) -> bool:
        before = self.text[max(start - _BEFORE, 0) : start].rstrip().rpartition("\n")[2].strip()
        if before.endswith(":") or _CODE_FOLLOWS.match(before):
            return True
        said = self.text[start:end]
        return len(_CODE_SIGN.findall(said)) >= _CODE_SHARE * len(said)

    def _add_lines(self, start: int, end: int) -> None:
        """Add what Markdown takes for a paragraph."""
        kind: BlockKind = "quotation" if self._quoted else "paragraph"
        lines = [(line.start(), line[0].strip()) for line in _LINE.finditer(self.text, start, end)]
        (_, first), rest = lines[0], lines[1:]
        if rest and _ADORNMENT.match(rest[0][1]) and len(rest[0][1]) >= len(first) > 0:
            self._add("heading", start, _level(rest[0][1]), first)
            if len(rest) > 1:
                self._add_lines(rest[1][0], end)
        elif not rest and (bold := _BOLD.match(first)):
            self._add("heading", start, _BOLD_LEVEL, bold["said"].strip())
        elif _MARKUP.match(first):
            self._add("markup", start)
        else:
            for number, (place, said) in enumerate(lines):
                of_line = self._kind_of_line(place, said, kind)
                if not number or of_line != kind:
                    self._add(of_line, place, int(of_line == "list item"))

    def _kind_of_line(self, place: int, said: str, kind: BlockKind) -> BlockKind:
        if _SIGN.match(self.text, place):
            return "list item"
        return "turn" if speaker_before(said)[0] else kind


def _as_dashes(found: re.Match[str]) -> str:
    title, signs = found["title"], found["signs"]
    return title + ("-" * len(signs) if len(signs) >= len(title.rstrip()) else signs)


def _level(adornment: str) -> int:
    """Level of a heading by the signs below it."""
    return 1 + _ADORNMENTS.find(adornment[0]) % len(_ADORNMENTS)


def _placed(text: str, parts: Sequence[_Part]) -> Iterator[Block]:
    """Yield blocks, each with what it belongs to."""
    ends = [part.start for part in parts[1:]] + [len(text)]
    headings: list[tuple[int, int, str]] = []
    items: list[tuple[int, int]] = []
    header: int | None = None
    for place, (part, end) in enumerate(zip(parts, ends, strict=True)):
        if part.kind == "heading":
            headings = [one for one in headings if one[0] < part.level]
        parent = headings[-1][1] if headings else None
        if part.kind == "list item":
            items = [one for one in _items_before(text, parts, place, items) if one[0] < part.level]
            parent = items[-1][1] if items else parent
            items.append((part.level, place))
        elif part.kind == "table row" and header is not None:
            parent = header
        header = place if part.kind == "table header" else header if part.kind == "table row" else None
        path = tuple(name for _, _, name in headings)
        # White space before the first block belongs to it.
        yield Block(part.kind, part.level, path, parent, Span(part.start if place else 0, end))
        if part.kind == "heading":
            headings.append((part.level, place, part.name))


def _items_before(
    text: str, parts: Sequence[_Part], place: int, items: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return what an item may belong to: items of its list by level, or the line that introduces the list."""
    if not place:
        return []
    before = parts[place - 1]
    if before.kind in {"list item", "code"}:
        return items
    introduced = _ends_in_colon(text, Span(before.start, parts[place].start)) and before.kind != "heading"
    return [(0, place - 1)] if introduced else []
