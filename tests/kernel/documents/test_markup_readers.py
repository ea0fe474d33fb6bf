"""reStructuredText, Org and AsciiDoc as they are, with their titles."""

import time

import pytest

from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile


def read(text: str, path: str) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(text.encode(), SourceFile(path))


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.org", "#+STARTUP: x\n#+TITLE: Minutes\n* Vote\nShe won.", "Minutes"),
        ("a.org", "* Vote\n** Later\nShe won.", None),
        ("a.adoc", "= Minutes\nAda Fell <a@b.c>\n\n* one\n\n|===\n|Ship |Year\n|===\n", "Minutes"),
        ("a.adoc", "Words alone == one.", None),
        ("a.rst", "=======\nMinutes\n=======\n\n:Date: 2021-11-25\n\nVote\n----\n\nShe won.\n", "Minutes"),
        ("a.rst", ".. _top:\n\nMinutes of May\n~~~~~~~~~~~~~~\n\n.. include:: other.txt\n", "Minutes of May"),
        ("a.rst", "Words.\n\n----\n\n==== =====\nShip Year\n==== =====\nA    1911\n==== =====\n", None),
    ],
)
def test_markup_stays_as_it_is(path: str, text: str, title: str | None) -> None:
    (record,) = read(text, path).records
    assert (record.text, record.title) == (text, title)


@pytest.mark.parametrize(
    "piece",
    ["  ", "=", "- ", ".. x::\n ", "  \n", "* a\n", "==\na\n", "a\n==", "#+title: "],
)
def test_hostile_markup_takes_time_that_grows_with_the_text(piece: str) -> None:
    begin = time.process_time()
    read(piece * (30_000 // len(piece)), "a.rst")
    assert time.process_time() - begin < 3
