"""Files that are small and ask for much, and things in a folder that are no files."""

import io
import json
import os
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import polars as pl

from fuzz.harness import Subject
from fuzz.reading import assess, load
from support.files import docx, epub, odt, pdf, pptx, shape

_MEGABYTE = 1_000_000
_LONG = 400_000
_GOOD = "Ada Fenwick of Atlas Shipping met the harbour board in Dover. The board said no."


def cases(_: Random, count: int) -> Iterator[tuple[str, str]]:
    """The names of the bombs, in the order of the alphabet, from the beginning again where there are few."""
    names = sorted(BOMBS)
    yield from ((names[number % len(names)],) * 2 for number in range(count))


def attack(case: str, home: Path) -> str:
    """Lay the bomb beside a good document, which must be read."""

    def lay(folder: Path) -> None:
        BOMBS[case](folder)
        (folder / "good.txt").write_text(_GOOD)

    fates = assess(lay, home, deep=True)
    assert "read" in fates, fates
    return fates


SUBJECT = Subject("bombs", cases, attack, load)


def _file(name: str, make: Callable[[], bytes | str]) -> Callable[[Path], None]:
    def lay(folder: Path) -> None:
        content = make()
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return lay


def _texts() -> dict[str, Callable[[Path], None]]:
    """Hundreds of thousands of characters each, without what algorithms hold on to."""
    pieces = {
        "letters": "a", "blanks": " ", "line ends": "\n", "dots": ".", "carets": "^", "digits": "7", "quotes": '"',
        "backticks": "`", "stars": "*", "open brackets": "[", "links": "](", "opened tags": "<a ", "comments": "<!--",
        "addresses": "http://", "mails": "a@", "mails of one": "a.", "hashes": "# ", "items": "1. ", "numbers": "- 5\n",
        "pipes": "|", "table rows": "|-|\n", "dashes": "-", "sentences": "A b. ", "initials": "A. ", "capitals": "AB ",
        "shouted": "A", "accents": "\u0301", "emoji": "🙂", "ideographs": "港", "joiners": "\u200d", "stops": "。", "tabs": "\t",
        "form feeds": "\f", "blank lines": "\n \t", "footnotes": ".[1]", "hyphens": "a-", "apostrophes": "a'", "fences": "```\n",
        "labels": "A: ", "replacements": "\ufffd", "slashes": "/a", "entities": "&amp;", "citations": "[Data: Reports (1)] ",
        "underscores": "_", "equals": "=\n", "right to left": "\u202e", "dollars": "$1,", "percents": "5%", "times": "1:",
    }  # fmt: skip
    return {
        f"many {name} in {kind}": _file(f"x.{kind}", lambda piece=piece, start=start: start + piece * (_LONG // len(piece)))  # type: ignore[misc]
        for name, piece in pieces.items()
        for kind, start in (("txt", ""), ("md", "# T\n\n"), ("html", "<p>"), ("csv", "text\n"))
    }  # fmt: skip


def _tables() -> dict[str, Callable[[Path], None]]:
    return {
        "1,000 equal columns": _file("x.csv", lambda: ",".join(["a"] * 1000) + ",text\n" + "1," * 1000 + _GOOD),
        "50,000 columns": _file("x.csv", lambda: ",".join(f"c{n}" for n in range(50_000)) + ",text\n" + "1," * 50_000 + _GOOD),
        "50,000 equal columns": _file("x.csv", lambda: "a," * 50_000 + "text\n" + "1," * 50_000 + _GOOD),
        "1,000 rows of 40,000 empty cells": _file("x.csv", lambda: "a," * 40_000 + "text\n" + ("," * 40_000 + "b\n") * 1000),
        "a row of a million cells": _file("x.csv", lambda: "text\n" + "a," * _MEGABYTE),
        "an open quotation mark": _file("x.csv", lambda: 'text\n"' + "a,b\n" * 500_000),
        "quotation marks": _file("x.csv", lambda: "text\n" + '"a"b,' * 400_000),
        "a million short rows": _file("x.csv", lambda: "text,a\n" + "b\n" * _MEGABYTE),
        "ten million line ends": _file("x.csv", lambda: "text\n" + "\n" * 10 * _MEGABYTE),
        "lines of json": _file("x.jsonl", lambda: "{}\n" * 3 * _MEGABYTE),
        "broken lines of json": _file("x.jsonl", lambda: "{\n" * 3 * _MEGABYTE),
        "deep json": _file("x.json", lambda: "[" * 100_000 + "]" * 100_000),
        "deep objects": _file("x.json", lambda: '{"text":' * 50_000 + "1" + "}" * 50_000),
        "deep metadata": _file("x.json", lambda: '[{"text":"a","x":' + "[" * 800 + "]" * 800 + "}]"),
        "deep lines": _file("x.jsonl", lambda: '{"text":"a","x":' + "[" * 90_000 + "]" * 90_000 + "}"),
        "five thousand digits": _file("x.json", lambda: '[{"text":"a","x":' + "9" * 5000 + "}]"),
        "a list of long numbers": _file("x.json", lambda: '[{"text":"a","x":[' + ",".join(["9" * 4000] * 500) + "]}]"),
        "keys of their own": _file("x.json", lambda: json.dumps([{"text": "a", f"k{n}": n} for n in range(20_000)])),
        "a key of a megabyte": _file("x.json", lambda: json.dumps([{"a" * _MEGABYTE: 1}])),
        "many keys without a text": _file("x.json", lambda: json.dumps({f"k{n}": n for n in range(100_000)})),
        "empty lists": _file("x.json", lambda: '[{"text":"a","x":[' + ",".join(["[]"] * 3 * _MEGABYTE) + "]}]"),
        "objects over two lines that end nowhere": _file("x.jsonl", lambda: '{"a":\n' * 300_000),
        "strings that end nowhere": _file("x.json", lambda: '{"a": "b\n' * 300_000),
        "a list that ends nowhere": _file("x.json", lambda: '[{"text":"a"},' * 200_000),
        "open comments in json": _file("x.json", lambda: "[/*" * 300_000),
        "commas in json": _file("x.json", lambda: "[" + ", \n" * 1_000_000),
        "objects in one line": _file("x.jsonl", lambda: '{"text":"a"}' * 300_000),
        "broken objects in one line": _file("x.jsonl", lambda: "{a}" * 300_000),
        "a conversation of 200,000 messages": _file("x.json", lambda: json.dumps({"messages": [{"role": "user", "content": "Hi."}] * 200_000})),
        "a tree of a conversation in a circle": _file("x.json", lambda: json.dumps([{"current_node": "0", "mapping": {str(n): {"parent": str((n + 1) % 50_000), "message": None} for n in range(50_000)}}])),
        "a chat of 60,000 days": _file("x.json", lambda: json.dumps([{"type": "message", "ts": str(10**9 + n * 43_200), "user": "U1", "text": "a"} for n in range(60_000)])),
        "a log of a chat": _file("x.txt", lambda: "1/4/23, 7:05 PM - Ada: Yes.\n" * 100_000),
        "a log of a chat with long lines": _file("x.txt", lambda: "1/4/23, 7:05 PM - Ada: Yes.\n" * 2 + "1/4/23, 7:05 PM - " + "a" * 2 * _MEGABYTE),
        "deep parts of content": _file("x.json", lambda: '[{"text":' + '{"content":[' * 400 + '"a"' + "]}" * 400 + "}]"),
        "a header after 200,000 lines": _file("x.csv", lambda: "a report\n" * 200_000 + "id,text\n1,a\n"),
        "comments in a table": _file("x.csv", lambda: "id,text\n" + "# a\n" * 500_000),
        "separators": _file("x.csv", lambda: "sep=" + ";" * _MEGABYTE),
        "parquet of three million rows": _file("x.parquet", lambda: _parquet(3_000_000, "a")),
        "parquet of long equal texts": _file("x.parquet", lambda: _parquet(20_000, "a" * 10_000)),
        "parquet of 20,000 columns": _file("x.parquet", lambda: _wide_parquet(20_000)),
        "parquet of no columns": _file("x.parquet", lambda: _wide_parquet(0)),
    }  # fmt: skip


def _parquet(rows: int, text: str) -> bytes:
    stream = io.BytesIO()
    pl.select(pl.repeat(text, rows).alias("text")).write_parquet(stream)
    return stream.getvalue()


def _wide_parquet(columns: int) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame({f"c{n}": [1] for n in range(columns)}).write_parquet(stream)
    return stream.getvalue()


def _pages() -> dict[str, Callable[[Path], None]]:
    tags = (
        "div",
        "b",
        "p",
        "ul><li",
        "table><tr><td",
        "blockquote",
        "main",
        "article",
        "header",
        "nav",
        "pre",
        "font a=1",
        "ol",
    )
    found = {
        f"20,000 open <{tag}>": _file("x.html", lambda tag=tag: f"<{tag}>a" * 20_000) for tag in tags  # type: ignore[misc]
    } | {
        f"50,000 <{tag}> beside each other": _file("x.html", lambda tag=tag: f"b<{tag}>a</{tag}>\n" * 50_000)  # type: ignore[misc]
        for tag in ("p", "li", "nav", "script", "a", "br", "h1", "main", "header", "tr", "td", "pre", "title", "meta", "footer")
    }  # fmt: skip
    return found | {
        "a list of 100,000": _file("x.html", lambda: "<ol>" + "<li>a" * 100_000),
        "a head of 30,000 rows": _file("x.html", lambda: "<table><thead>" + "<tr><td>a</td></tr>" * 30_000),
        "30,000 bodies": _file("x.html", lambda: "<table>" + "<tbody><tr><td>a</td></tr></tbody>" * 30_000),
        "wide cells": _file("x.html", lambda: "<table><tr>" + "<td colspan=1000>a</td>" * 20_000),
        "a list that starts late": _file("x.html", lambda: f"<ol start={'9' * 5000}><li>a</li></ol>"),
        "a heading of 5,000 digits": _file("x.html", lambda: f"<h{'9' * 5000}>a</h{'9' * 5000}>"),
        "closing tags": _file("x.html", lambda: "<b>" * 5000 + "</i>" * 100_000),
        "crossed tags": _file("x.html", lambda: "<b><i><p>a</b></i>" * 20_000),
        "attributes": _file("x.html", lambda: "<p " + "a=b " * 300_000 + ">a"),
        "an open attribute": _file("x.html", lambda: "<p a='" * 100_000),
        "open declarations": _file("x.html", lambda: "<!" * 300_000),
        "open instructions": _file("x.html", lambda: "<?" * 300_000),
        "open sections": _file("x.html", lambda: "<![CDATA[" * 100_000),
        "open ends": _file("x.html", lambda: "</" * 300_000),
        "half entities": _file("x.html", lambda: "&#" * 300_000),
        "blanks kept": _file("x.html", lambda: "<pre>a" + "\n" * 500_000 + "b"),
        "front matter of aliases": _file("x.md", lambda: "---\na: &a [x]\nb: [*a, *a]\n---\nText."),
        "front matter without end": _file("x.md", lambda: "---\n" + "a: b\n" * 200_000),
        "long front matter": _file("x.md", lambda: "---\n" + "".join(f"a{n}: b\n" for n in range(100_000)) + "---\nText."),
        "deep front matter": _file("x.md", lambda: "---\na: " + "[" * 20_000 + "\n---\nText."),
        "front matter of a bad time": _file("x.md", lambda: '---\na: !!timestamp "zzz"\n---\nText.'),
        "front matter of a long number": _file("x.md", lambda: "---\nid: 0x" + "f" * 20_000 + "\ndate: 2021-02-30\n---\nText."),
        "front matter of sixties": _file("x.md", lambda: "---\na: " + "1:" * 20_000 + "1\n---\nText."),
    }  # fmt: skip


def _mails() -> dict[str, Callable[[Path], None]]:
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3_000))
    return {
        "mail of deep parts": _file("x.eml", lambda: f"From: a\n{deep}\nText"),
        "mail of 100,000 parts": _file("x.eml", lambda: "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\n\na\n" * 100_000),
        "mail in mail": _file("x.eml", lambda: "Content-Type: message/rfc822\n\n" * 2_000 + "Text"),
        "mail of a long subject": _file("x.eml", lambda: "Subject: " + "=?utf-8?q?a?= " * 200_000 + "\n\nText"),
        "mail to a million": _file("x.eml", lambda: "To: " + '"a" <a@x>, ' * 200_000 + "\n\nText"),
        "mail of open brackets": _file("x.eml", lambda: "From: " + "(" * 500_000 + "\nTo: " + "<" * 500_000 + "\n\nText"),
        "mail of headers": _file("x.eml", lambda: "A: b\n" * 500_000 + "\nText"),
        "mail of flowed lines": _file("x.eml", lambda: "Content-Type: text/plain; format=flowed\n\n" + "a \n" * 500_000),
        "a mailbox of 100,000 messages": _file("x.mbox", lambda: "From a\nSubject: b\n\nText.\n\n" * 100_000),
        "a mailbox of beginnings": _file("x.mbox", lambda: "From a\n\n" * 500_000),
        "captions without end": _file("x.srt", lambda: "1\n00:00:01,000 --> 00:00:02,000\na\n\n" * 100_000),
        "captions of one long cue": _file("x.vtt", lambda: "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v a>b" * 300_000),
        "captions that grow": _file("x.vtt", lambda: "WEBVTT\n\n" + "".join(f"00:00:{n % 60:02d}.000 --> 00:00:{n % 60:02d}.000\n{'a ' * n}\n\n" for n in range(2_000))),
        "captions of arrows": _file("x.srt", lambda: "--> " * 500_000),
        "a notebook of 100,000 cells": _file("x.ipynb", lambda: json.dumps({"cells": [{"cell_type": "code", "source": "a", "outputs": []}] * 100_000})),
        "a notebook of a long output": _file("x.ipynb", lambda: json.dumps({"cells": [{"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": "\r" * 500_000 + "\x1b[" * 500_000}]}]})),
        "a deep notebook": _file("x.ipynb", lambda: '{"cells":' * 50_000),
        "front matter of TOML": _file("x.md", lambda: "+++\na = " + "[" * 40_000 + "\n+++\nText."),
        "front matter of colons": _file("x.md", lambda: "title: a\n" + " b\n" * 200_000),
    }  # fmt: skip


def _archives() -> dict[str, Callable[[Path], None]]:
    text = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
    return {
        "docx of 70 megabytes": _file("x.docx", lambda: docx("<w:p/>" + " " * 70 * _MEGABYTE, packed=True)),
        "docx of 40 megabytes": _file("x.docx", lambda: docx("<w:p/>" * 7 * _MEGABYTE, packed=True)),
        "docx of a long text": _file("x.docx", lambda: docx(f"<w:p><w:r><w:t>{'a' * 40 * _MEGABYTE}</w:t></w:r></w:p>", packed=True)),
        "docx of 20,000 titles": _file("x.docx", lambda: docx(text, core="<dc:title>" * 20_000)),
        "docx of 200,000 open titles": _file("x.docx", lambda: docx(text, core="<dc:title " * 200_000)),
        "docx of 50,000 paragraphs": _file("x.docx", lambda: docx(text * 50_000, packed=True)),
        "docx of deep tables": _file("x.docx", lambda: docx("<w:tbl><w:tr><w:tc>" * 5000 + text + "</w:tc></w:tr></w:tbl>" * 5000)),
        "docx of deep runs": _file("x.docx", lambda: docx("<w:p>" + "<w:ins>" * 50_000 + "</w:ins>" * 50_000 + "</w:p>")),
        "docx of entities": _file("x.docx", _laughs),
        "docx of 60,000 parts": _file("x.docx", lambda: _parts(60_000)),
        "docx in docx": _file("x.docx", lambda: _zipped({f"{n}.zip": _zipped({"a": b"\0" * _MEGABYTE}) for n in range(100)})),
        "docx that lies about its size": _file("x.docx", _lying),
        "docx of odd signatures": _file("x.docx", lambda: docx(text).replace(b"PK\x03\x04", b"PK\x03\x03")),
        "pptx of deep groups": _file("x.pptx", lambda: pptx("<p:grpSp>" * 5000 + "</p:grpSp>" * 5000)),
        "pptx of 50,000 shapes": _file("x.pptx", lambda: pptx(shape("a") * 50_000)),
        "pptx of 20,000 slides": _file("x.pptx", lambda: pptx(*[shape("a")] * 15_000)),
        "odt of deep lists": _file("x.odt", lambda: odt("<text:list><text:list-item>" * 5000 + "</text:list-item></text:list>" * 5000)),
        "odt of wide tables": _file("x.odt", lambda: odt('<table:table><table:table-row>' + '<table:table-cell table:number-columns-repeated="99999"><text:p>a</text:p></table:table-cell>' * 20_000 + '</table:table-row></table:table>')),
        "epub of one chapter 20,000 times": _file("x.epub", lambda: epub(*["<p>a</p>"] * 10_000)),
        "epub of deep markup": _file("x.epub", lambda: epub("<div>" * 50_000)),
        "pdf of a loop": _file("x.pdf", lambda: pdf([[(72, 700, "a")]]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")),
        "pdf of a billion pages": _file("x.pdf", lambda: pdf([[(72, 700, "a")]]).replace(b"/Count 1", b"/Count 1000000000")),
        "pdf of 20,000 equal pages": _file("x.pdf", lambda: pdf([[(72, 700, "a")]]).replace(b"[4 0 R] /Count 1", b"[" + b"4 0 R " * 20_000 + b"] /Count 20000")),
        "pdf of a long page": _file("x.pdf", lambda: pdf([[(72.0, 700.0 - n / 100, f"word{n}") for n in range(60_000)]])),
        "pdf of a long line": _file("x.pdf", lambda: pdf([[(72, 700, "a" * 500_000)]])),
        "pdf of hyphens": _file("x.pdf", lambda: pdf([[(72.0, 700.0 - 14 * (n % 50), "a-") for n in range(50)]] * 300)),
        "pdf that is packed": _file("x.pdf", _packed_pdf),
    }  # fmt: skip


def _zipped(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _laughs() -> bytes:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return docx(
        "<w:p><w:r><w:t>&l11;</w:t></w:r></w:p>", doctype=f'<!DOCTYPE x [<!ENTITY l0 "lol">{laughs}]>'
    )


def _parts(number: int) -> bytes:
    stream = io.BytesIO(docx("<w:p/>"))
    with zipfile.ZipFile(stream, "a") as archive:
        for part in range(number):
            archive.writestr(f"word/{part}.xml", b"")
    return stream.getvalue()


def _lying() -> bytes:
    data = docx(f"<w:p><w:r><w:t>{'a' * 80 * _MEGABYTE}</w:t></w:r></w:p>", packed=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    return data.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))


def _packed_pdf() -> bytes:
    import zlib

    packed = zlib.compress(b"BT /F1 12 Tf\n" + b"1 0 0 1 72 700 Tm (a) Tj\n" * _MEGABYTE + b"ET")
    whole = pdf([[(72, 700, "a")]])
    start, end = whole.index(b"5 0 obj"), whole.index(b"endobj", whole.index(b"5 0 obj"))
    stream = b"5 0 obj\n<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream\n" % (
        len(packed),
        packed,
    )
    return whole[:start] + stream + whole[end:]


def _no_files() -> dict[str, Callable[[Path], None]]:
    return {
        "a pipe": lambda folder: os.mkfifo(folder / "x.txt"),
        "a socket": _socket,
        "a link to a device": lambda folder: (folder / "x.txt").symlink_to("/dev/zero"),
        "a link to itself": lambda folder: (folder / "x.txt").symlink_to(folder / "x.txt"),
        "a link to a parent": lambda folder: (folder / "x").symlink_to(folder.parent),
        "a loop of folders": lambda folder: (folder / "x").symlink_to(folder),
        "a link outside": lambda folder: (folder / "x.txt").symlink_to("/etc/passwd"),
        "a thousand loops": _loops,
        "folders in folders": _deep_folders,
        "odd names": _odd_names,
        "hidden things": _hidden,
        "a file of holes": _holes,
    }


def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("x.txt")
    finally:
        os.chdir(here)


def _loops(folder: Path) -> None:
    for number in range(1000):
        (folder / f"f{number}").mkdir()
        (folder / f"f{number}" / "up").symlink_to(folder)
        (folder / f"f{number}" / "next").symlink_to(folder / f"f{(number + 1) % 1000}")


def _deep_folders(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(60):
            Path("d" * 60).mkdir()
            os.chdir("d" * 60)
        Path("x.txt").write_text(_GOOD)
    finally:
        os.chdir(here)


def _odd_names(folder: Path) -> None:
    for name in (
        b"\x1b[2J.txt",
        b"a\nb.txt",
        b"\xff\xfe.txt",
        b"\\x.txt",
        b"[bold]x.txt",
        b" .txt",
        b"-.txt",
        b"\x7f.txt",
        "\u202etxt.exe.txt".encode(),
    ):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text(f"{_GOOD} {name!r}")


def _hidden(folder: Path) -> None:
    for name in (".git/objects/a", ".env", "a/.hidden/b", "~$a.docx"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")


def _holes(folder: Path) -> None:
    with (folder / "x.txt").open("wb") as stream:
        stream.truncate(10**12)


BOMBS: dict[str, Callable[[Path], object]] = {
    **_texts(),
    **_tables(),
    **_pages(),
    **_mails(),
    **_archives(),
    **_no_files(),
}
