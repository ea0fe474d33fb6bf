"""Damaged and odd documents of every format: small valid ones that are flipped, cut, spliced and renamed."""

import io
import json
import random
import string
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import polars as pl

from fuzz.harness import Subject
from fuzz.reading import assess, load
from support.files import docx, epub, odt, pdf, pptx, shape

#: Every how many cases the units are extracted from, too.
_DEEP = 200
_SENTENCES = (
    "The harbour board met on Tuesday.",
    "Dr. Ada Fenwick of Atlas Shipping said no.",
    "Le bateau «Étoile» a coulé.",
    "船は港に着いた。そして沈んだ。",
    "Прибыло 12,5 т угля.",
    "Costs rose by 3.5 % (see [1]).",
    "e.g. U.S. v. Smith et al. e.g.",
    "",
)
_HOSTILE = (
    "\x00", "\ud800", "\ufeff", "\u202e", "\x1b[31m", "\r", "\x85", "\u2028", "\x0c", "9" * 5000, "-" * 300,
    "(" * 400, "[" * 400, "{" * 400, "<" * 400, "<div>" * 300, "&#x110000;", "&#0;", "&" * 50, '"' * 51, "'",
    "<![CDATA[", "<!--", "<?xml", "<!DOCTYPE x [<!ENTITY a 'aaaa'>]>", "]]>", "---\n", "!!timestamp \"zzz\"",
    "!!int \"\"", "!!float x", "!!binary \"*\"", "!!set {b, a}", "? [x]\n: y", "&a [*a]", "1:" * 60 + "1", "0x" + "f" * 5000,
    "2021-02-30", "9999-99-99", "1e999", "NaN", "-Infinity", "\\u0000", "\\ud800", "\\", "%00", "=1+1", "`" * 40, "|" * 90,
    "# " * 40, "1. " * 90, "http://" * 40, "](" * 90, "a@" * 90, "." * 400, "\u0301" * 200, "🙂" * 60, "x" * 3000,
    " " * 3000, "\n" * 900, "\t" * 400, "<ol start='" + "9" * 5000 + "'><li>x</li></ol>", "<td colspan=999999>", "²",
    "<meta charset=punycode>", "<meta charset=utf-7>", "<svg>", "<table><tr><td>", "<pre>\n\n", "</p>" * 50, "<br>" * 200,
)  # fmt: skip


def cases(rng: Random, count: int) -> Iterator[tuple[str, tuple[str, bytes, bool]]]:
    """Name and bytes of each document, and whether its units are extracted from."""
    for number in range(count):
        kind = _NAMES[number % len(_NAMES)]
        data = _SEEDS[kind](rng)
        told = []
        for change in rng.choices(_CHANGES, k=rng.choice((0, 1, 1, 2, 3))):
            data = change(rng, kind, data)
            told.append(change.__name__.strip("_"))
        name = f"{_odd_name(rng)}.{rng.choice(_NAMES) if rng.random() < 0.1 else kind}"
        yield f"{number} {name!a} {kind} {' '.join(told)}", (name, data, number % _DEEP == 0)


def attack(case: tuple[str, bytes, bool], home: Path) -> str:
    """Read the document in a folder of its own."""
    name, data, deep = case
    return assess(lambda folder: (folder / name).write_bytes(data), home, deep=deep)


SUBJECT = Subject("documents", cases, attack, load)


def _odd_name(rng: Random) -> str:
    return rng.choice(
        (
            *"aaaaaaaaaaaaaaaa",
            "ü",
            "a b",
            "[red]a",
            "a\nb",
            "a\x1b[31m",
            "\udce9",
            "-rf",
            "a" * 200,
            ".a",
            "~$a",
        )
    )


def _words(rng: Random) -> str:
    parts = rng.choices(_SENTENCES, k=rng.randint(1, 8))
    if rng.random() < 0.4:
        parts.insert(rng.randrange(len(parts)), rng.choice(_HOSTILE))
    return rng.choice((" ", "\n", "\n\n")).join(parts)


def _holdable(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _value(rng: Random, depth: int = 0) -> object:
    makers: list[Callable[[], object]] = [
        lambda: _words(rng),
        lambda: rng.choice((None, True, 0, -1, 10**40, 1.5, float("nan"), float("inf"), "")),
        lambda: rng.choice(_HOSTILE),
    ]
    if depth < 4:
        makers += [
            lambda: [_value(rng, depth + 1) for _ in range(rng.randint(0, 3))],
            lambda: {
                rng.choice(("text", "title", "id", "date", "x", "", "\ud800")): _value(rng, depth + 1)
                for _ in range(3)
            },
        ]
    return rng.choice(makers)()


def _objects(rng: Random) -> list[object]:
    keys = ("text", "title", "id", "date", "author", "tags", "body")
    return [
        {key: _value(rng) for key in rng.sample(keys, rng.randint(0, 5))} | {"text": _words(rng)}
        for _ in range(rng.randint(1, 4))
    ]


def _txt(rng: Random) -> bytes:
    if rng.random() < 0.3:
        return _holdable(json.dumps(_messages(rng)))
    if rng.random() < 0.5:
        stamps = ("1/4/23, 7:05 PM - ", "[04/01/23, 19:05:12] ", "04.01.23, 19:05 - ", "99/99/99, 99:99 - ")
        return _holdable(
            "".join(f"{rng.choice(stamps)}{rng.choice(('Ada: ', ''))}{_words(rng)}\n" for _ in range(4))
        )
    return _holdable(_words(rng))


def _messages(rng: Random) -> object:
    roles = ("role", "author", "sender", "from", "user")
    times = ("ts", "timestamp", "date", "create_time", "timestamp_ms")
    said = [
        {
            rng.choice(roles): rng.choice(("user", "tool", "Ada", {"name": "Ada"}, _value(rng))),
            rng.choice(("content", "text", "value", "parts")): rng.choice((_words(rng), _value(rng))),
            rng.choice(times): rng.choice((1672859100, "2023-01-04T19:05:00", 1e300, _value(rng))),
            "type": rng.choice(("message", "service", None)),
        }
        for _ in range(rng.randint(1, 4))
    ]
    nodes = {str(n): {"parent": str(rng.randrange(4)), "message": one} for n, one in enumerate(said)}
    return rng.choice(
        (
            {"messages": said, "name": _words(rng)},
            [{"conversations": said}],
            said,
            {"chats": {"list": [{"messages": said}]}},
            {"mapping": nodes, "current_node": "0"},
        )
    )


def _ipynb(rng: Random) -> bytes:
    outputs = [
        {"output_type": "stream", "text": _words(rng)},
        {"data": {"text/html": _words(rng)}},
        _value(rng),
    ]
    kinds = ("markdown", "code", "raw", "heading", None)
    cells = [
        rng.choice(({"cell_type": rng.choice(kinds), "source": _value(rng), "outputs": outputs}, _value(rng)))
        for _ in range(rng.randint(1, 4))
    ]
    return _holdable(json.dumps({"cells": cells, "metadata": _value(rng), "nbformat": 4}))


def _eml(rng: Random) -> bytes:
    heads = "".join(
        f"{name}: {rng.choice((*_HOSTILE, 'Ada <a@x.org>'))}\n" for name in ("From", "Subject", "Date", "To")
    )
    kind = rng.choice(
        ("text/plain", "text/html; charset=x", "multipart/mixed; boundary=b", "message/rfc822", _words(rng))
    )
    parts = "".join(
        f"--b\nContent-Type: {rng.choice(('text/html', 'text/plain', 'a/b'))}\n\n{_words(rng)}\n"
        for _ in range(3)
    )
    coding = rng.choice(("base64", "quoted-printable", "8bit", "x"))
    return _holdable(f"{heads}Content-Type: {kind}\nContent-Transfer-Encoding: {coding}\n\n{parts}--b--\n")


def _mbox(rng: Random) -> bytes:
    return b"\n".join(
        b"From a@x.org Thu Mar  4 23:30:00 2021\n" + _eml(rng) for _ in range(rng.randint(1, 3))
    )


def _captions(rng: Random) -> bytes:
    times = ("00:00:01,000 --> 00:00:02,000", "00:01.000 --> 00:02.000", "9999:99:99,999 --> 0:00:00", "-->")
    voices = ("<v Ada>", "<00:00:01.000><c>", "- ", ">> ", "")
    cues = [
        f"{n}\n{rng.choice(times)}\n{rng.choice(voices)}{_words(rng)}\n" for n in range(rng.randint(1, 6))
    ]
    return _holdable("\n".join([*rng.choice(([], ["WEBVTT\n"])), *cues]))


def _md(rng: Random) -> bytes:
    mark = rng.choice(("---", "+++", ";;;", ""))
    front = "".join(
        f"{key}: {rng.choice((*_HOSTILE, 'Storm', '2021-11-25'))}\n"
        for key in rng.sample(("title", "date", "id", "tags"), 2)
    )
    return _holdable(
        f"{mark}\n{front}{mark}\n# {_words(rng)}\n\n- {_words(rng)}\n\n```\n{_words(rng)}\n```\n"
    )


def _html(rng: Random) -> bytes:
    tags = (
        "p",
        "div",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "h1",
        "h2",
        "pre",
        "blockquote",
        "main",
        "nav",
        "article",
        "a",
        "b",
        "header",
    )
    body = ""
    for _ in range(rng.randint(1, 12)):
        tag = rng.choice(tags)
        said = rng.choice(("", "hidden", "colspan=9", "start=x", "style='display:none'"))
        body += f"<{tag} {said}>{_words(rng)}"
        body += f"</{tag}>" if rng.random() < 0.7 else ""
    return _holdable(
        f"<html><head><title>{_words(rng)}</title><meta name=date content='{_words(rng)}'></head><body>{body}"
    )


def _pdf(rng: Random) -> bytes:
    lines = [(72.0, 700.0 - 14 * place, _latin(_words(rng))[:80]) for place in range(rng.randint(1, 6))]
    return pdf([lines] * rng.randint(1, 4), title=_latin(_words(rng))[:40])


def _latin(text: str) -> str:
    return text.encode("cp1252", "replace").decode("cp1252").replace("\n", " ")


def _docx(rng: Random) -> bytes:
    wraps = (
        "<w:p><w:r><w:t>{}</w:t></w:r></w:p>",
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>',
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
    )
    body = "".join(rng.choice(wraps).format(_xml(_words(rng))) for _ in range(rng.randint(1, 5)))
    return docx(body, properties=rng.random() < 0.5)


def _pptx(rng: Random) -> bytes:
    slides = [
        shape(_xml(_words(rng)), kind=rng.choice(("title", "body", None))) for _ in range(rng.randint(1, 4))
    ]
    return pptx(*slides, notes=shape(_xml(_words(rng))) if rng.random() < 0.5 else "")


def _epub(rng: Random) -> bytes:
    return epub(*(f"<h1>{_xml(_words(rng))}</h1><p>{_xml(_words(rng))}" for _ in range(rng.randint(1, 3))))


def _odt(rng: Random) -> bytes:
    wraps = (
        "<text:p>{}</text:p>",
        '<text:h text:outline-level="1">{}</text:h>',
        "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>",
        "<table:table><table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row></table:table>",
    )
    return odt("".join(rng.choice(wraps).format(_xml(_words(rng))) for _ in range(rng.randint(1, 5))))


_MARKS = (
    "Title\n=====\n\n{}\n", ".. note:: {}\n\n   x\n", "{}::\n\n   x\n", "`{} <x>`_ ", ":ref:`{}`", "* {}\n", "|===\n|{}\n|===\n",
    "#+BEGIN_SRC\n{}\n#+END_SRC\n", "----\n{}\n----\n", "[[x][{}]]", "== {}\n", ":x: {}\n", "+---+\n|{}|\n+---+\n", "include::x[]\n{}",
    ".. list-table::\n\n   * - {}\n", "== ==\n{}\n== ==\n", ".. raw:: html\n\n   {}\n", "++++\n{}\n++++\n", "*{}* ", "{}:: x\n",
)  # fmt: skip


def _markup(rng: Random) -> bytes:
    return _holdable("".join(rng.choice(_MARKS).format(_words(rng)) for _ in range(rng.randint(1, 8))))


def _mhtml(rng: Random) -> bytes:
    head = b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n"
    return head + _html(rng) + b"\r\n--x--\r\n"


def _xml(text: str) -> str:
    kept = (
        text if random.Random(len(text)).random() < 0.3 else text.replace("&", "&amp;").replace("<", "&lt;")
    )
    return kept.encode("utf-8", "replace").decode()


def _csv(rng: Random) -> bytes:
    delimiter = rng.choice(",;\t|")
    header = delimiter.join([*rng.sample(("id", "title", "text", "date", "text", "", "x"), 4), "text"])
    rows = [
        delimiter.join(
            rng.choice(('"{}"', "{}", '"{}')).format(_words(rng)) for _ in range(rng.randint(1, 7))
        )
        for _ in range(5)
    ]
    before = rng.choices(("sep=;", "# made", "A report;;", _words(rng)), k=rng.choice((0, 0, 1, 3)))
    return _holdable("\n".join([*before, header, *rows, rng.choice(("", "Total;2", "(2 rows)"))]))


def _json(rng: Random) -> bytes:
    content = rng.choice(
        (_messages(rng), _objects(rng), {"documents": _objects(rng)}, _objects(rng)[0], _value(rng))
    )
    return _holdable(json.dumps(content, ensure_ascii=rng.random() < 0.5))


def _jsonl(rng: Random) -> bytes:
    return _holdable("\n".join(json.dumps(item) for item in _objects(rng)))


def _parquet(rng: Random) -> bytes:
    size = rng.randint(1, 5)
    texts = [_words(rng).encode("utf-8", "replace").decode() for _ in range(size)]
    stream = io.BytesIO()
    frame = pl.DataFrame(
        {"text": texts, "id": range(size), "tags": [[text] for text in texts], "x": [None] * size}
    )
    frame.write_parquet(stream, compression=rng.choice(("zstd", "snappy", "uncompressed")))
    return stream.getvalue()


_SEEDS: dict[str, Callable[[Random], bytes]] = {
    "txt": _txt, "md": _md, "html": _html, "pdf": _pdf, "docx": _docx, "csv": _csv, "tsv": _csv, "json": _json,
    "jsonl": _jsonl, "parquet": _parquet, "ipynb": _ipynb, "eml": _eml, "mbox": _mbox, "srt": _captions, "vtt": _captions,
    "pptx": _pptx, "epub": _epub, "odt": _odt, "rst": _markup, "org": _markup, "adoc": _markup, "mhtml": _mhtml,
}  # fmt: skip
_NAMES = tuple(_SEEDS)
#: Archives, whose parts are changed as well.
_PACKAGES = ("docx", "pptx", "epub", "odt")


def _flipped(rng: Random, _: str, data: bytes) -> bytes:
    changed = bytearray(data)
    for _number in range(rng.choice((1, 3, 20))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncated(rng: Random, _: str, data: bytes) -> bytes:
    return (
        data[: rng.randrange(len(data) + 1)] if rng.random() < 0.7 else data[rng.randrange(len(data) + 1) :]
    )


def _inserted(rng: Random, _: str, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    piece = rng.randbytes(rng.randint(1, 60)) if rng.random() < 0.5 else _holdable(rng.choice(_HOSTILE))
    return data[:place] + piece + data[place:]


def _spliced(rng: Random, _: str, data: bytes) -> bytes:
    other = _SEEDS[rng.choice(_NAMES)](rng)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _repeated(rng: Random, _: str, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    piece = data[place : place + rng.randint(1, 40)]
    return data[:place] + piece * rng.choice((2, 50, 2000)) + data[place:]


def _reencoded(rng: Random, _: str, data: bytes) -> bytes:
    encoding = rng.choice(
        ("utf-16", "utf-16-le", "utf-32", "cp1252", "cp1251", "shift_jis", "gb18030", "utf-7", "koi8-r")
    )
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _numbered(rng: Random, _: str, data: bytes) -> bytes:
    """Another number in place of each of some digits."""
    digits = string.digits.encode()
    return b"".join(
        bytes([rng.choice(digits)]) * rng.choice((1, 1, 12))
        if byte in digits and rng.random() < 0.2
        else bytes([byte])
        for byte in data
    )


def _damaged_inside(rng: Random, kind: str, data: bytes) -> bytes:
    """Change a part of an archive, and pack it again so that its sums are right."""
    if kind not in _PACKAGES or not zipfile.is_zipfile(io.BytesIO(data)):
        return _flipped(rng, kind, data)
    stream = io.BytesIO()
    try:
        with (
            zipfile.ZipFile(io.BytesIO(data)) as old,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for entry in old.namelist():
                part = old.read(entry)
                new.writestr(
                    entry,
                    rng.choice((_inserted, _truncated, _repeated, _numbered))(rng, "xml", part)
                    if rng.random() < 0.5
                    else part,
                )
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return data
    return stream.getvalue()


_CHANGES = (
    _flipped,
    _truncated,
    _inserted,
    _inserted,
    _spliced,
    _repeated,
    _reencoded,
    _numbered,
    _damaged_inside,
)
