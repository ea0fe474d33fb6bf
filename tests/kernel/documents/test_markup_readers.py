"""reStructuredText without its marks; Org and AsciiDoc as they are."""

import time

import pytest

from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile


def read(text: str, path: str) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(text.encode(), SourceFile(path))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=====\nTitle\n=====\n\nPart\n----\n\nWords\n", "# Title\n\n## Part\n\nWords"),
        ("See :ref:`the page <x-y>`, :class:`~a.b.Store` and ``x = 1``.", "See the page, Store and x = 1."),
        ("`The list <http://x>`_ and `Another`_ and plain_ *here* **now**.", "The list and Another and plain here now."),
        (".. note:: It sank.\n\n   At night.\n", "Note: It sank.\n\nAt night."),
        (".. versionadded:: 1.2\n   New words.\n", "New in version 1.2\n\nNew words."),
        (".. unknown:: An argument\n   :option: x\n\n   Its words.\n", "An argument\n\nIts words."),
        (".. py:function:: open(name)\n\n   Opens it.\n\n   :param name: which one\n", "open(name)\n\nOpens it.\n\nparam name: which one"),
        ("Run::\n\n    make test\n\nAfter.", "Run:\n\n```\nmake test\n```\n\nAfter."),
        (".. code-block:: sh\n\n   make  *x*\n", "```sh\nmake  *x*\n```"),
        ("+-----+-----+\n| a   | *b* |\n+=====+=====+\n| c   | d   |\n|     | e   |\n+-----+-----+\n", "| a | b |\n| c | d e |"),
        ("==== =====\nShip Year\n==== =====\nA    1911\n     B\nC    1912\n==== =====\n", "| Ship | Year |\n| A | 1911 B |\n| C | 1912 |"),
        (".. list-table:: Ships\n   :header-rows: 1\n\n   * - Ship\n     - Year\n   * - A\n     - 1911\n", "Ships\n\n| Ship | Year |\n| A | 1911 |"),
        ('.. csv-table:: Ships\n   :header: "Ship", "Year"\n\n   "A, B", 1911\n', "Ships\n\n| Ship | Year |\n| A, B | 1911 |"),
        (".. |org| replace:: The Board\n\n|org| met.", "The Board met."),
        ("It sank [1]_.\n\n.. [1] In May.\n", "It sank [1].\n\n[1] In May."),
        ("* one\n* two\n\n  more\n#. three\n", "- one\n- two\n\n  more\n1. three"),
        ("term\n   Its meaning.\n", "term\n   Its meaning."),
        (".. raw:: html\n\n   <p>Shown <b>here</b></p>\n", "Shown here"),
        ("snake_case stays, 2 * 3 * 4 too, a\\*b.", "snake_case stays, 2 * 3 * 4 too, a*b."),
    ],
)  # fmt: skip
def test_rst(text: str, shown: str) -> None:
    assert read(text, "a.rst").records[0].text == shown


def test_rst_facts_and_notes() -> None:
    reading = read(
        "Title\n=====\n\n:Author: Ada Fell\n:Date: 2021-11-25\n\n.. a comment\n\n.. include:: other.txt\n\n"
        ".. automodule:: x\n\n.. toctree::\n\n   a\n   b\n\nWords.",
        "a.rst",
    )
    (record,) = reading.records
    assert (record.title, record.date, record.metadata) == ("Title", "2021-11-25", {"author": "Ada Fell"})
    assert record.text == "# Title\n\nWords."
    assert reading.notes == ("not in the text: automodule (1), include of other.txt (1)",)
    assert reading.remarks == ("left out: comment (1), list of contents (1)",)


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.org", "#+STARTUP: x\n#+TITLE: Minutes\n* Vote\nShe won.", "Minutes"),
        ("a.org", "* Vote\n** Later\nShe won.", None),
        ("a.adoc", "= Minutes\nAda Fell <a@b.c>\n\n* one\n\n|===\n|Ship |Year\n|===\n", "Minutes"),
        ("a.adoc", "Words alone == one.", None),
    ],
)
def test_org_and_adoc_stay_as_they_are(path: str, text: str, title: str | None) -> None:
    (record,) = read(text, path).records
    assert (record.text, record.title) == (text, title)


@pytest.mark.parametrize(
    "piece",
    ["`", "*a", "[[", "|a", "``x", ":a:`", "<<a", "a_ ", "{a", "  ", "=", "- ", "\\", "[a", ".. x::\n ", "  \n", "* - a\n",
     "* a\n", "==\na\n", "a::"],
)  # fmt: skip
def test_hostile_markup_takes_time_that_grows_with_the_text(piece: str) -> None:
    begin = time.process_time()
    read(piece * (30_000 // len(piece)), "a.rst")
    assert time.process_time() - begin < 3
