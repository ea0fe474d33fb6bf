"""reStructuredText as light Markdown, without its markup.

Read by our own rules and not by docutils, which knows neither Sphinx's directives and roles nor those of
extensions, and replaces unknown ones by error messages.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from graphrag_dagster.kernel.documents.file_records import FileRecord, Reading, SourceFile
from graphrag_dagster.kernel.documents.readers.html import parse, to_text
from graphrag_dagster.kernel.documents.readers.markdown import title_heading
from graphrag_dagster.kernel.documents.readers.office.xml_packages import note_of_counts, row
from graphrag_dagster.kernel.documents.text_decoding import decode

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|([^|]{1,200})\|[ \t]+)?([\w:+.-]{1,100})::(?:[ \t]+(.*))?")
_NOTE = re.compile(r"\.\.[ \t]+\[([^\[\]]{1,100})\][ \t]*(.*)")
_TARGET = re.compile(r"(?:\.\.[ \t]+_|__[ \t]).*")
_OPTION = re.compile(r":([\w -]{1,60}):(?:[ \t]+(.*))?")
_FIELD = re.compile(r":([^:`\n][^:\n]{0,100}):[ \t]+(.*)")
_GRID = re.compile(r"\+(?:[-=]{2,}\+)+")
_SIMPLE = re.compile(r"=+(?:[ \t]+=+)+[ \t]*")
_SPANS = re.compile(r"-+(?:[ \t]+-+)*[ \t]*")
_ITEM = re.compile(r"(?:[-*+•]|(?:\d{1,4}|#|[A-Za-z])[.)]|\((?:\d{1,4}|[A-Za-z])\))[ \t]+")
_CODE = frozenset(
    {
        "code-block",
        "code",
        "sourcecode",
        "parsed-literal",
        "prompt",
        "ipython",
        "doctest",
        "testcode",
        "testoutput",
        "productionlist",
        "graphviz",
        "mermaid",
    }
)
_ELSEWHERE = frozenset(
    {
        "include",
        "literalinclude",
        "automodule",
        "autoclass",
        "autofunction",
        "automethod",
        "autodata",
        "autoexception",
        "autosummary",
        "automethods",
        "click",
        "argparse",
        "program-output",
    }
)
_MUTE = frozenset(
    {
        "toctree",
        "contents",
        "index",
        "highlight",
        "currentmodule",
        "module",
        "py:module",
        "py:currentmodule",
        "meta",
        "tabularcolumns",
        "default-role",
        "role",
        "sectnum",
        "section-numbering",
        "target-notes",
        "header",
        "footer",
        "title",
        "restructuredtext-test-directive",
    }
)
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_ADMONITIONS = frozenset(
    {
        "note",
        "warning",
        "tip",
        "hint",
        "important",
        "caution",
        "danger",
        "error",
        "attention",
        "seealso",
        "todo",
    }
)
_ROLE = re.compile(r"(?::[\w.+:-]{1,60}:)`([^`]{1,2000})`|`([^`]{1,2000})`(?::[\w.+:-]{1,60}:)")
_PHRASE = re.compile(r"`([^`<]{0,2000})(?:<([^`>]{0,2000})>)?`__?")
_LITERAL = re.compile(r"``(.{1,2000}?)``(?![`\w])")
_PLAIN = re.compile(r"`([^`]{1,2000})`")
_LINKED = re.compile(r"\b([A-Za-z0-9][A-Za-z0-9.-]{0,100})__?(?![\w`])")
_CITED = re.compile(r"\[([^\[\]]{1,100})\]_")
_INTERNAL = re.compile(r"_`([^`]{1,500})`")
_STRONG = re.compile(r"(?<![\w*\\])(\*\*?)(?=[^\s*])((?:[^*\n]|\*(?=\w)){1,500}?)(?<=\S)\1(?![\w*])")
_SUBSTITUTED = re.compile(r"\|([^|\s][^|\n]{0,100})\|(?:__?)?")
_ESCAPED = re.compile(r"\\(.)")
_HELD = re.compile("\ue000(\\d+)\ue001")
#: Directives in directives that are looked into; what is deeper stays as it is.
_MOST_LEVELS = 20
_EMPTY_LINES = re.compile(r"\n{3,}")
_DATES = ("date", "created", "published", "updated")


def read_rst(data: bytes, _source: SourceFile) -> Reading:
    """Read reStructuredText, that of Sphinx as well: headings, text, lists, tables, directives with their
    words. Comments and lists of contents are left out; what stands in other files is noted.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    lines = decoded.text.expandtabs(8).split("\n")
    rst = _Rst(lines)
    found = "\n".join(line.rstrip() for line in rst.blocks(lines))
    text = _EMPTY_LINES.sub("\n\n", found).strip("\n")
    title = rst.facts.pop("title", None) or title_heading(text)
    record = FileRecord(text, title=title, date=rst.facts.pop("date", None), metadata=rst.facts)
    notes = (*decoded.notes, *note_of_counts("not in the text", rst.missing))
    return Reading((record,), decoded.encoding, notes, note_of_counts("left out", rst.left))


def _fence_code(lines: list[str], language: str = "") -> list[str]:
    """Return lines of code as a block of Markdown, without the indentation they share."""
    said = [place for place, line in enumerate(lines) if line.strip()]
    lines = lines[said[0] : said[-1] + 1] if said else []
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return ["", f"```{language}", *(line[margin:] for line in lines), "```", ""]


class _Rst:
    def __init__(self, lines: Sequence[str]) -> None:
        self.facts: dict[str, str] = {}
        self.missing: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self._levels: list[tuple[str, bool]] = []
        self._named = {
            found[1]: (found[3] or "").strip()
            for line in lines
            if (found := _DIRECTIVE.fullmatch(line.strip()))
            and found[1]
            and found[2] in ("replace", "unicode")
        }

    def blocks(self, lines: Sequence[str], depth: int = 0) -> Iterator[str]:
        place = 0
        if depth > _MOST_LEVELS:
            yield from lines
            return
        while place < len(lines):
            line = lines[place]
            if not line.strip():
                yield ""
                place += 1
                continue
            place, found = self._block(lines, place, depth)
            yield from found

    def _block(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Read the block that begins there; gives the place after it, and its text."""
        line = lines[place]
        bare = line.strip()
        if title := self._title(lines, place):
            return title
        if bare.startswith((".. ", "__ ")) or bare in ("..", "::"):
            return self._explicit(lines, place, depth)
        if _GRID.fullmatch(bare):
            return self._grid(lines, place)
        if _SIMPLE.fullmatch(bare):
            return self._simple(lines, place)
        if bare.startswith((">>> ", "$ ")) and depth < 1 and not line[0].isspace():
            end = _until(lines, place, lambda one: not one.strip())
            return end, _fence_code(list(lines[place:end]))
        if _RULE.fullmatch(bare) and len(bare) >= 4:
            return place + 1, [""]
        if not depth and (field := _FIELD.fullmatch(bare)) and self._is_fact(lines, place):
            return place + 1, self._fact(field[1], field[2])
        return self._words(lines, place)

    def _words(self, lines: Sequence[str], place: int) -> tuple[int, list[str]]:
        line = lines[place]
        margin = len(line) - len(line.lstrip())
        bare = line.strip()
        if bare.startswith("| ") or bare == "|":
            return place + 1, [self.inline(bare[1:].strip())]
        if bare.endswith("::") and not bare.startswith(".. "):
            said = bare[:-2].rstrip()
            shown = [f"{line[:margin]}{self.inline(said)}:"] if said else []
            end = _end_of_indented(lines, place + 1, margin)
            return end, [*shown, *(_fence_code(list(lines[place + 1 : end])) if end > place + 1 else [])]
        if (field := _OPTION.fullmatch(bare)) and not bare.startswith(":`"):
            return place + 1, [
                f"{line[:margin]}{self.inline(field[1])}: {self.inline(field[2] or '')}".rstrip()
            ]
        is_item = _ITEM.match(bare)
        keep = " " * margin if is_item or margin < 4 or _in_list(lines, place, margin) else ""
        return place + 1, [f"{keep}{self.inline(_bullet(bare))}"]

    def _title(self, lines: Sequence[str], place: int) -> tuple[int, list[str]] | None:
        def line(at: int) -> str:
            return lines[at].rstrip() if at < len(lines) else ""

        first, second, third = line(place), line(place + 1), line(place + 2)
        if _RULE.fullmatch(first) and second.strip() and third == first and not _RULE.fullmatch(second):
            return place + 3, [f"{'#' * self._level(first[0], True)} {self.inline(second.strip())}", ""]
        ruled = _RULE.fullmatch(second) and (len(second) >= 4 or len(second) >= len(first))
        if ruled and not _RULE.fullmatch(first) and not first[0].isspace() and len(second) * 2 >= len(first):
            if place and lines[place - 1].strip() and not _RULE.fullmatch(lines[place - 1].strip()):
                return None
            return place + 2, [f"{'#' * self._level(second[0], False)} {self.inline(first)}", ""]
        return None

    def _level(self, sign: str, over: bool) -> int:
        if (sign, over) not in self._levels:
            self._levels.append((sign, over))
        return min(self._levels.index((sign, over)) + 1, 6)

    def _is_fact(self, lines: Sequence[str], place: int) -> bool:
        """Whether only the title and other facts stand before it."""
        before = [line.strip() for line in lines[:place] if line.strip()][:30]
        kept = [
            one
            for one in before
            if not _FIELD.fullmatch(one) and not _RULE.fullmatch(one) and not one.startswith("..")
        ]
        return len(kept) <= 1 and place < 60

    def _fact(self, name: str, value: str) -> list[str]:
        key = name.strip().casefold()
        self.facts.setdefault("date" if key in _DATES else key, self.inline(value))
        return []

    def _explicit(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        line = lines[place]
        margin = len(line) - len(line.lstrip())
        bare = line.strip()
        end = _end_of_indented(lines, place + 1, margin)
        inner = _dedent(lines[place + 1 : end])
        if bare == "::":
            return end, _fence_code(inner)
        if found := _DIRECTIVE.fullmatch(bare):
            return end, self._directive(found, inner, depth)
        if note := _NOTE.fullmatch(bare):
            return end, [
                f"[{note[1].lstrip('#*')}] {self.inline(note[2])}".rstrip(),
                *self.blocks(inner, depth + 1),
                "",
            ]
        if not _TARGET.fullmatch(bare):
            self.left["comment"] += 1
        return (end if bare.startswith("..") else place + 1), [""]

    def _directive(self, found: re.Match[str], inner: list[str], depth: int) -> list[str]:
        name, said = found[2].lower(), (found[3] or "").strip()
        options: dict[str, str] = {}
        # Arguments may go on in the next lines; options follow them at once.
        while inner and (option := _OPTION.fullmatch(inner[0].strip())):
            options[option[1]] = option[2] or ""
            inner = inner[1:]
        if found[1] or name in _MUTE:
            self.left["list of contents" if name in ("toctree", "contents") else "setting"] += 1
            return [""]
        if name in _ELSEWHERE:
            self.missing[f"{name} of {said[:60]}" if name == "include" else name] += 1
            return ["", *self.blocks(inner, depth + 1)]
        if name in _CODE:
            return _fence_code(inner, said if name in ("code-block", "code", "sourcecode") else "")
        if name in ("image", "figure"):
            alt = options.get("alt", "")
            self.left["picture"] += not alt
            return ["", self.inline(alt), "", *self.blocks(inner, depth + 1)]
        if name == "raw":
            return self._raw(said, inner)
        if name == "math":
            return ["", " ".join([said, *(line.strip() for line in inner)]).strip(), ""]
        if name in ("csv-table", "list-table"):
            return ["", self.inline(said), "", *self._listed(name, options, inner), ""]
        heading = f"{_VERSIONS[name]} {said}".strip() if name in _VERSIONS else self.inline(said)
        if name in _ADMONITIONS:
            heading = f"{'See also' if name == 'seealso' else name.capitalize()}: {heading}".strip()
        return ["", heading, "", *self.blocks(inner, depth + 1), ""]

    def _raw(self, said: str, inner: list[str]) -> list[str]:
        if said == "html":
            return ["", *to_text(parse("\n".join(inner))).text.split("\n"), ""]
        self.left[f"block for {said[:20] or 'a program'}"] += 1
        return [""]

    def _listed(self, name: str, options: dict[str, str], inner: list[str]) -> Iterator[str]:
        if name == "csv-table":
            if "file" in options or "url" in options:
                self.missing["table of another file"] += 1
            for text in filter(None, (options.get("header", ""), *inner)):
                yield from (
                    row(map(self.inline, cells)) for cells in csv.reader([text], skipinitialspace=True)
                )
            return
        cells: list[str] = []
        for line in inner:
            bare = line.strip()
            if bare.startswith("* - ") and cells:
                yield row(cells)
                cells = []
            if bare.startswith(("* - ", "- ")) and len(line) - len(line.lstrip()) <= 2:
                cells.append(self.inline(bare.removeprefix("* ").removeprefix("- ")))
            elif bare == "*" or not bare:
                continue
            elif cells:
                cells[-1] += f" {self.inline(bare)}"
            else:
                cells.append(self.inline(bare))
        if cells:
            yield row(cells)

    def _grid(self, lines: Sequence[str], place: int) -> tuple[int, list[str]]:
        end = _until(lines, place, lambda one: not one.strip().startswith(("+", "|")))
        rows, cells = [], list[str]()
        for line in (one.strip() for one in lines[place:end]):
            if line.startswith("+"):
                if any(cells):
                    rows.append(row(map(self.inline, cells)))
                cells = []
                continue
            found = [cell.strip() for cell in line.strip("|").split("|")]
            cells = (
                [" ".join(filter(None, pair)) for pair in zip(cells, found, strict=True)]
                if len(cells) == len(found)
                else cells + found
            )
        return end, ["", *rows, ""]

    def _simple(self, lines: Sequence[str], place: int) -> tuple[int, list[str]]:
        ruler = lines[place]
        starts = [found.start() for found in re.finditer(r"=+", ruler)]
        rules, end = 0, place
        rows: list[list[str]] = []
        while end < len(lines):
            line = lines[end]
            end += 1
            if _SIMPLE.fullmatch(line.strip()):
                rules += 1
                if rules >= 2 and (end >= len(lines) or not lines[end].strip()):
                    break
            elif line.strip() and not (_SPANS.fullmatch(line.strip()) and len(line.strip()) > 2):
                cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
                if rows and not cells[0] and any(cells):
                    rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
                else:
                    rows.append(cells)
        return end, ["", *(row(map(self.inline, cells)) for cells in rows), ""]

    def inline(self, text: str) -> str:
        """Return a line without its marks."""
        held: list[str] = []

        def hold(words: str) -> str:
            held.append(words)
            return f"\ue000{len(held) - 1}\ue001"

        text = _HELD.sub("", text)
        text = _LITERAL.sub(lambda found: hold(found[1]), text)
        text = _ROLE.sub(lambda found: hold(_role_text(found[1] or found[2])), text)
        text = _INTERNAL.sub(r"\1", text)
        text = _PHRASE.sub(lambda found: hold((found[1] or found[2] or "").strip()), text)
        text = _PLAIN.sub(lambda found: hold(found[1]), text)
        text = _SUBSTITUTED.sub(lambda found: self._named.get(found[1], found[1]), text)
        text = _CITED.sub(lambda found: f"[{found[1].lstrip('#*')}]", text)
        text = _STRONG.sub(r"\2", text)
        text = _LINKED.sub(lambda found: found[0] if found[1].endswith("__") else found[1], text)
        text = _ESCAPED.sub(lambda found: "" if found[1] == " " else found[1], text)
        return _HELD.sub(lambda found: held[int(found[1])] if int(found[1]) < len(held) else "", text)


def _role_text(said: str) -> str:
    """Text of a role: its title, else its target, shortened to the last name where requested."""
    words, _, target = said.rpartition("<")
    if words.strip() and target.endswith(">"):
        return words.strip()
    return said.rpartition(".")[2] if said.startswith("~") else said.lstrip("!")


def _bullet(bare: str) -> str:
    return (
        f"- {bare[2:].lstrip()}"
        if bare.startswith(("* ", "+ ", "• "))
        else f"1. {bare[2:].lstrip()}"
        if bare.startswith("#. ")
        else bare
    )


def _in_list(lines: Sequence[str], place: int, margin: int) -> bool:
    """Whether an item, or the term of a definition, stands above with less of a margin."""
    for line in reversed(lines[max(0, place - 200) : place]):
        if line.strip() and (indent := len(line) - len(line.lstrip())) < margin:
            return bool(_ITEM.match(line.lstrip())) or indent > 0
    return False


def _until(lines: Sequence[str], place: int, ends: Callable[[str], bool]) -> int:
    while place < len(lines) and not ends(lines[place]):
        place += 1
    return place


def _end_of_indented(lines: Sequence[str], place: int, margin: int) -> int:
    """The place after all that is indented more than the margin."""
    end = place
    for at in range(place, len(lines)):
        line = lines[at]
        if line.strip():
            if len(line) - len(line.lstrip()) <= margin:
                break
            end = at + 1
    return end


def _dedent(lines: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]
