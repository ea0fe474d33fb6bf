"""Blocks of a text: headings, paragraphs, list items, rows, code, turns of speakers, with exact positions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.quotable_sentences import speaker_before

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BlockKind = Literal[
    "heading", "paragraph", "list item", "table header", "table row", "code", "quotation", "turn", "rule"
]

#: Nesting from which lists and quotations are text: each level is parsed by itself.
_DEEPEST = 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
#: A line that ends in a colon introduces what follows; one that is bold as a whole stands for a heading.
_BOLD = re.compile(r"(?:\*\*|__)(?P<said>[^*_\n]{1,80}?)(?:\*\*|__):?\Z")
#: Signs of lists that Markdown does not know.
_SIGN = re.compile(r"[ \t]*(?:[•‣▪◦●○·–—]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})\))[ \t]+(?=\S)")
#: An adornment below a title, as reStructuredText has them beside those of Markdown.
_ADORNED = re.compile(r"(?P<sign>[!-/:-@\[-`{-~])(?P=sign){2,}[ \t]*\Z")
#: Share of signs of code among the characters from which indented lines are code without an introduction.
_CODE = 0.06
_CODE_SIGN = re.compile(r"[{}\[\]<>=_\\|$#@^~;()]")
#: Level of a heading that is a bold line.
_BOLD_LEVEL = 7


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text.

    Attributes:
        kind: what it is.
        level: of a heading 1 to 7 (a bold line); of a list item its depth from 1; else 0.
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
    signs, titles with other adornments, and turns of speakers. Code that is indented counts where a colon
    introduces it, or its characters are those of code: indented prose is a paragraph.
    """
    return list(_with_paths(text, _parts(text)))


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
    # Defined elsewhere, a link would not be text.
    parser.block.ruler.disable("reference")
    return parser


def _parts(text: str) -> Iterator[_Part]:
    """Yield the parts of a text in their order, each with its start."""
    if not text.strip():
        return
    lines = [found.start() for found in re.finditer(r"^", text, re.MULTILINE)]
    if lines[-1] < len(text):
        lines.append(len(text))
    last = -1
    for part in _of_tokens(text, _parser().parse(text), lines):
        # A list and its first item begin at one place.
        if part.start > last:
            yield part
            last = part.start


def _of_tokens(text: str, tokens: Sequence["Token"], lines: Sequence[int]) -> Iterator[_Part]:
    depth = quoted = 0
    item: int | None = None
    header = False
    for number, token in enumerate(tokens):
        kind = token.type
        if kind in {"bullet_list_open", "ordered_list_open"}:
            depth += 1
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            depth -= 1
        elif kind == "blockquote_open":
            quoted += 1
        elif kind == "blockquote_close":
            quoted -= 1
        elif kind == "thead_open":
            header = True
        elif kind == "thead_close":
            header = False
        if not token.map or token.map[0] >= len(lines):
            continue
        start = lines[token.map[0]]
        end = lines[min(token.map[1], len(lines) - 1)]
        if kind == "list_item_open":
            item = start
            yield _Part("list item", start, depth)
        elif kind == "heading_open":
            name = tokens[number + 1].content if number + 1 < len(tokens) else ""
            yield _Part("heading", start, int(token.tag[1]), " ".join(name.split()))
        elif kind == "tr_open":
            yield _Part("table header" if header else "table row", start)
        elif kind in {"fence", "code_block"} and (kind == "fence" or _is_code(text, start, end)):
            yield _Part("code", start)
        elif kind == "hr":
            yield _Part("rule", start)
        elif kind in {"paragraph_open", "html_block", "code_block"}:
            # The words of an item are the item, not a paragraph in it.
            if depth and start == item:
                continue
            yield from _of_lines(text, start, end, "quotation" if quoted else "paragraph")


def _is_code(text: str, start: int, end: int) -> bool:
    before = text[:start].rstrip()
    said = text[start:end]
    return before.endswith(":") or len(_CODE_SIGN.findall(said)) >= _CODE * len(said)


def _of_lines(text: str, start: int, end: int, kind: BlockKind) -> Iterator[_Part]:
    """Yield the parts of what Markdown takes for a paragraph."""
    lines = [(start + found.start(), found[0].strip()) for found in _LINE.finditer(text[start:end])]
    if len(lines) == 1 and (bold := _BOLD.match(lines[0][1])):
        yield _Part("heading", start, _BOLD_LEVEL, bold["said"].strip())
        return
    if len(lines) > 1 and _ADORNED.match(lines[1][1]) and len(lines[1][1]) >= len(lines[0][1]) > 0:
        yield _Part("heading", start, _adornment_level(lines[1][1]), lines[0][1])
        if len(lines) > 2:
            yield from _of_lines(text, lines[2][0], end, kind)
        return
    yield _part_of_line(text, lines[0], kind)
    for line in lines[1:]:
        part = _part_of_line(text, line, kind)
        if part.kind != kind:
            yield part


def _part_of_line(text: str, line: tuple[int, str], kind: BlockKind) -> _Part:
    start, said = line
    if _SIGN.match(text, start):
        return _Part("list item", start, 1)
    return _Part("turn" if speaker_before(said)[0] else kind, start)


def _adornment_level(line: str) -> int:
    return 1 + "=-~^\"'`".find(line[0]) if line[0] in "=-~^\"'`" else 6


def _with_paths(text: str, parts: Iterator[_Part]) -> Iterator[Block]:
    found = list(parts)
    if found and found[0].start:
        # White space before the first block belongs to it.
        found[0] = _Part(found[0].kind, 0, found[0].level, found[0].name)
    if not found and text:
        found = [_Part("paragraph", 0)]
    above: list[tuple[int, int, str]] = []
    owners: list[tuple[int, int]] = []
    header: int | None = None
    ends = [part.start for part in found[1:]] + [len(text)]
    before: _Part | None = None
    for place, (part, end) in enumerate(zip(found, ends, strict=True)):
        if part.kind == "heading":
            above = [one for one in above if one[0] < part.level]
        path = tuple(name for _, _, name in above)
        parent = above[-1][1] if above else None
        if part.kind == "list item":
            if before is None or before.kind not in {"list item", "code", "paragraph"}:
                owners = []
            elif before.kind == "paragraph" and text[before.start : part.start].rstrip().endswith(":"):
                owners = [(0, place - 1)]
            owners = [one for one in owners if one[0] < part.level]
            parent = owners[-1][1] if owners else parent
            owners.append((part.level, place))
        elif part.kind == "table header":
            header = place
        elif part.kind == "table row":
            parent = parent if header is None else header
        yield Block(part.kind, part.level, path, parent, Span(part.start, end))
        if part.kind == "heading":
            above.append((part.level, place, part.name))
        before = part


def starts_within(text: str, blocks: Sequence[Block]) -> list[int]:
    """Return where a text may be parted: before each block but what its introduction belongs to.

    A heading stays with what stands below it, a line that ends in a colon with what it introduces.
    """
    kept = [0]
    for one, following in pairwise(blocks):
        introduces = one.kind == "heading" or text[one.span.start : one.span.end].rstrip().endswith(":")
        if not introduces and one.kind != "table header":
            kept.append(following.span.start)
    return kept if text else []
