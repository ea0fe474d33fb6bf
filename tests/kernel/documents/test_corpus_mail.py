"""Mail, captions and notebooks."""

import email.message
import email.policy
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import FileRecord, Reading, SourceFile, UnreadableError


def read(data: bytes | str, path: str) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(data.encode() if isinstance(data, str) else data, SourceFile(path))


def only(data: bytes | str, path: str) -> FileRecord:
    (record,) = read(data, path).records
    return record


def mail(build: Callable[[email.message.EmailMessage], None] | None = None, **headers: str) -> bytes:
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    usual = {
        "From": "Hanna Brode <hanna@x.org>",
        "To": "Marta Lindqvist <m@x.org>, Tom <t@x.org>",
        "Subject": "The roof",
    }
    for name, value in (
        usual | {"Date": "Thu, 4 Mar 2021 23:30:00 +0100", "Message-ID": "<1@x.org>"} | headers
    ).items():
        message[name] = value
    message.set_content("It leaks.\n\nOn Wednesday Marta wrote:\n> Does it leak?\n")
    if build:
        build(message)
    return message.as_bytes()


def test_mail() -> None:
    record = only(mail(), "a.eml")
    assert record.text.strip() == "It leaks.\n\nOn Wednesday Marta wrote:\n> Does it leak?"
    assert (record.title, record.date, record.source_id) == (
        "The roof",
        "2021-03-04T23:30:00+01:00",
        "<1@x.org>",
    )
    assert record.metadata["from"] == "Hanna Brode <hanna@x.org>"
    assert record.metadata["to"] == ["Marta Lindqvist <m@x.org>", "Tom <t@x.org>"]


def _page(message: email.message.EmailMessage) -> None:
    message.add_alternative("<p>A <b>page</b>.</p>", subtype="html")


def _attached(message: email.message.EmailMessage) -> None:
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Bericht über.pdf")
    message.add_attachment("a,b", subtype="csv", filename="a.csv")


def _forwarded(message: email.message.EmailMessage) -> None:
    inner = email.message.EmailMessage()
    inner["From"], inner["Subject"] = "Tom Weill <t@x.org>", "Old matter"
    inner.set_content("The key is lost.")
    message.add_attachment(inner)


@pytest.mark.parametrize(
    ("build", "words", "note"),
    [
        (_page, ["It leaks."], None),
        (lambda message: message.set_content("<h1>Roof</h1><p>It&nbsp;leaks.</p>", subtype="html"), ["# Roof", "leaks."], None),
        (_attached, ["It leaks."], "attachments (application/pdf) (1), attachments (text/csv) (1)"),
        (_forwarded, ["It leaks.", "Forwarded message:\nFrom: Tom Weill <t@x.org>\nSubject: Old matter", "The key is lost."], None),
        (lambda message: message.set_content("Größe", charset="iso-8859-1"), ["Größe"], None),
        (lambda message: message.set_content("Größe", cte="base64"), ["Größe"], None),
    ],
)  # fmt: skip
def test_the_parts_of_mail(
    build: Callable[[email.message.EmailMessage], None], words: list[str], note: str | None
) -> None:
    reading = read(mail(build), "a.eml")
    for word in words:
        assert word in reading.records[0].text
    assert "page" not in reading.records[0].text
    assert reading.notes == ((f"left out: {note}",) if note else ())


def test_headers_as_old_programs_write_them() -> None:
    data = b"Subject: =?ISO-8859-1?Q?Gr=F6=DFe?= =?utf-8?b?w7xiZXI=?=\nFrom: Jos\xc3\xa9 <j@x.org>\nDate: soon\nContent-Type: text/plain; charset=nonsense\n\nThe caf\xe9 was shut.\n"
    record = only(data, "a.eml")
    assert (record.title, record.metadata["from"], record.date) == ("Größeüber", "José <j@x.org>", "soon")
    assert record.text == "The café was shut.\n"


@pytest.mark.parametrize(
    "value", ["(" * 20_000, '"' * 20_000, "a@b.c, " * 5_000, "=?utf-8?q?" * 5_000, "@" * 20_000]
)
def test_hostile_headers_end_and_take_no_words_of_the_text(value: str) -> None:
    begin = time.process_time()
    record = only(f"From: {value}\nTo: {value}\nSubject: {value}\nDate: {value}\n\nIt leaks.\n", "a.eml")
    assert record.text == "It leaks.\n"
    assert time.process_time() - begin < 8


def test_names_of_people_are_read_with_their_addresses() -> None:
    record = only('From: "Weill, Tom" <t@x.org>\nTo: a@b.c, =?utf-8?b?w4RkYQ==?= <d@e.f>\n\nYes.\n', "a.eml")
    assert record.metadata["from"] == "Weill, Tom <t@x.org>"
    assert record.metadata["to"] == ["a@b.c", "Äda <d@e.f>"]


def test_what_is_no_mail_is_told() -> None:
    with pytest.raises(UnreadableError, match="no header|header such as"):
        read("Just a text.", "a.eml")
    with pytest.raises(UnreadableError, match="does not begin with a line"):
        read("Subject: x\n\nText", "a.mbox")
    assert read("", "a.eml").records == ()


def test_a_mailbox() -> None:
    first, second = mail().replace(b"\r\n", b"\n"), mail(_attached, Subject="Two").replace(b"\r\n", b"\n")
    quoted = first.replace(b"It leaks.", b"It leaks.\n\n>From here on: dry.\nFrom there, too.")
    reading = read(
        b"From hanna@x.org Thu Mar  4 23:30:00 2021\n" + quoted + b"\nFrom - Thu Mar  4\n" + second, "a.mbox"
    )
    assert [(record.row, record.title) for record in reading.records] == [(0, "The roof"), (1, "Two")]
    assert "\nFrom here on: dry.\nFrom there, too." in reading.records[0].text
    assert "attachment" in reading.notes[0]


SRT = """1
00:00:01,000 --> 00:00:03,000
Marta Lindqvist directed
the <i>Alderbrook</i> Museum.

2
00:00:03,500 --> 00:00:05,000
- Who kept the archive?
- Tomas Weill.

3
00:00:20,000 --> 00:00:22,000
{\\an8}1984
"""
VTT = """WEBVTT - a title
Kind: captions

NOTE a comment
over two lines

STYLE
::cue { color: red }

intro
00:01.000 --> 00:04.000 align:start position:0%
<v Hanna Brode>Did Tomas Weill &amp; co open it?</v>

00:04.000 --> 00:05.000
<v.loud Marta Lindqvist>Yes.</v> <v Hanna Brode>Good.
"""
ROLLING = """WEBVTT

00:00:00.000 --> 00:00:02.000

so<00:00:00.320><c> welcome</c><00:00:00.640><c> back</c>

00:00:02.000 --> 00:00:02.010
so welcome back

00:00:02.010 --> 00:00:04.000
so welcome back
to<00:00:02.320><c> the</c> museum

00:00:04.000 --> 00:00:04.010
to the museum

00:00:04.010 --> 00:00:06.000
to the museum
of alderbrook
"""
TWICE = "".join(
    f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{said}\n\n"
    for n, said in enumerate(["Is it open?", "No.", "No.", "Well then."], 1)
)


@pytest.mark.parametrize(
    ("text", "path", "said", "noted"),
    [
        (SRT, "a.srt", ["Marta Lindqvist directed the Alderbrook Museum.", "Who kept the archive?", "Tomas Weill.", "1984"], False),
        (SRT.replace("\n\n", "\n"), "a.srt", ["Marta Lindqvist directed the Alderbrook Museum.", "Who kept the archive?", "Tomas Weill.", "1984"], False),
        (VTT, "a.vtt", ["Hanna Brode: Did Tomas Weill & co open it?", "Marta Lindqvist: Yes.", "Hanna Brode: Good."], False),
        (VTT, "a.txt", ["Hanna Brode: Did Tomas Weill & co open it?", "Marta Lindqvist: Yes.", "Hanna Brode: Good."], False),
        (ROLLING, "a.vtt", ["so welcome back to the museum of alderbrook"], True),
        (TWICE, "a.srt", ["Is it open? No. No. Well then."], False),
        ("Only words.\n\nMore.", "a.srt", ["Only words.", "More."], True),
        ("stray\n\n1\n00:01 --> 00:02\nSaid.\n", "a.srt", ["Said."], True),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\n>> ANNA: It is.\n>> Is it?\n", "a.vtt", ["ANNA: It is.", "Is it?"], False),
    ],
)  # fmt: skip
def test_captions_become_running_text(text: str, path: str, said: list[str], noted: bool) -> None:
    reading = read(text, path)
    assert reading.records[0].text.split("\n\n") == said
    assert bool(reading.notes or reading.remarks) is noted


def test_captions_without_stops_are_cut_at_silences() -> None:
    words = "the museum was closed and nobody came to see it"
    cues = "".join(f"{n}\n00:{n:02d}:00,000 --> 00:{n:02d}:03,000\n{words} {n}\n\n" for n in range(1, 30))
    assert len(only(cues, "a.srt").text.split("\n\n")) == 29


NOTEBOOK = {
    "nbformat": 4,
    "metadata": {"language_info": {"name": "python"}, "title": "", "authors": [{"name": "Ada Fell"}]},
    "cells": [
        {"cell_type": "markdown", "source": ["# The roof\n", "It leaks. ![plan](attachment:plan.png)"]},
        {"cell_type": "code", "source": "print(1)\n```", "outputs": [
            {"output_type": "stream", "text": ["10%\r", "100%\n", "\x1b[31mred\x1b[0m\n"]},
            {"output_type": "execute_result", "data": {"text/html": ["<table><tr><td>a</td></tr></table>"], "text/plain": ["   a\n0  1"]}},
            {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": ["<Figure>"]}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no roof", "traceback": ["x"]}]},
        {"cell_type": "raw", "source": "Raw words."},
    ],
}  # fmt: skip


def test_notebook() -> None:
    reading = read(json.dumps(NOTEBOOK), "a.ipynb")
    (record,) = reading.records
    assert record.text.split("\n\n") == [
        "# The roof\nIt leaks. plan",
        "````python\nprint(1)\n```\n````",
        "100%\nred",
        "   a\n0  1",
        "ValueError: no roof",
        "Raw words.",
    ]
    assert (record.title, record.metadata) == ("The roof", {"language": "python", "authors": ["Ada Fell"]})
    assert reading.notes == ("left out: pictures and widgets (2), tracebacks of errors (1)",)


def test_older_notebooks_and_no_notebooks() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Roof"}, {"cell_type": "code", "input": "1", "outputs": [{"output_type": "pyout", "text": ["one"]}, {"png": "iVBOR", "output_type": "display_data"}]}]}]}  # fmt: skip
    reading = read(json.dumps(old), "a.ipynb")
    assert reading.records[0].text == "## Roof\n\n```\n1\n```\n\none"
    assert reading.notes == ("left out: pictures and widgets (1)",)
    for content in ("{", "[]", '{"cells": 1}', "[" * 50_000):
        with pytest.raises(UnreadableError, match="notebook"):
            read(content, "a.ipynb")


@given(
    st.lists(st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=9), min_size=1, max_size=9),
    st.sampled_from(["a.srt", "a.vtt"]),
)
def test_every_word_of_captions_is_in_the_text(words: list[str], path: str) -> None:
    cues = "".join(f"00:{n:02d}.000 --> 00:{n:02d}.900\n{word}!\n\n" for n, word in enumerate(words))
    text = only(("WEBVTT\n\n" if path == "a.vtt" else "") + cues, path).text
    assert text.split() == [f"{word}!" for word in words]
