"""Names, texts and cells that are long, foreign or meant to do harm."""

import csv
import io
import tracemalloc
from pathlib import Path

import pytest

from graphrag_dagster.apps.explorer.document_text import fold, place_of
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES
from support.homes import enter_home
from support.made import Rows, publish_rows

WAVE = "🤦🏼‍♂️"
LONG = "Ab" * 2_000
NAMES = (
    "שלום עולם",
    "E\u0301lodie \u202eevil",
    WAVE * 3,
    LONG,
    "<script>alert(1)</script>",
    '=HYPERLINK("http://evil.example")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\tcmd",
    "\rcmd",
    'a,b\n"c"',
)


def rows_of(text: str, names: tuple[str, ...] = NAMES) -> Rows:
    """One document and one text unit, which names every entity."""
    spans = [
        [{"start": start, "end": start + len(name)}] for name in names if (start := text.index(name)) >= 0
    ]
    unit = {"text_unit_id": "u1"}
    return {
        tables.FILES: {"path": ["a.txt"]},
        tables.DOCUMENTS: {
            "document_id": ["d1"],
            "path": ["a.txt"],
            "title": [NAMES[1]],
            "text": [text],
            "characters": [len(text)],
            "metadata": ['{"mood": "<b>gloomy</b>"}'],
        },
        tables.TEXT_CHUNKS: {
            **{name: [value] for name, value in unit.items()},
            "document_id": ["d1"],
            "end_char": [len(text)],
            "text": [text],
            "tokens": [7],
        },
        GLEANED_ENTITIES: {
            "instance_id": [f"i{n}" for n in range(len(names))],
            "text_unit_id": "u1",
            "name": [name.upper() for name in names],
            "surface": names,
            "spans": spans,
        },
        tables.ENTITIES: {
            "entity_id": [f"e{n}" for n in range(len(names))],
            "name": [name.upper() for name in names],
            "title": names,
            "names": [[name] for name in names],
            "text_unit_ids": [["u1"]] * len(names),
            "degree": range(len(names)),
        },
    }


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    enter_home(monkeypatch, tmp_path)
    return publish_rows(rows_of(f"{WAVE} said: " + " met ".join(NAMES) + ". The end."))


def test_offsets_are_code_points(hostile: Explorer) -> None:
    whole = hostile.text("d1")
    joined = "".join(part.text for part in whole.parts)
    assert (whole.characters, len(joined)) == (len(joined), len(joined))
    for number, name in enumerate(NAMES):
        page = hostile.entity(f"e{number}")
        assert page.title == name
        (place,) = page.mentions.mentions
        assert (place.words, joined[place.start_char : place.end_char]) == (name, name)
        said = [part.text for part in whole.parts for n in part.entities if whole.entities[n].title == name]
        assert "".join(said) == name
        cited = hostile.text("d1", cited=f"{place.start_char}-{place.end_char}")
        assert "".join(part.text for part in cited.parts if part.cited) == name


@pytest.mark.parametrize("start", range(12))
def test_a_window_may_begin_inside_a_character_of_several_code_points(hostile: Explorer, start: int) -> None:
    joined = "".join(part.text for part in hostile.text("d1").parts)
    found = hostile.text("d1", start, start + 3)
    assert "".join(part.text for part in found.parts) == joined[start : start + 3]


def test_cells_that_look_like_formulas_are_guarded(hostile: Explorer) -> None:
    _, *lines = csv.reader(io.StringIO("".join(hostile.csv("entities", Order("degree")))))
    titles = [line[0] for line in lines]
    assert titles == [f"'{name}" if name[0] in "=+-@\t\r" else name for name in NAMES]
    assert [line[2] for line in lines] == [str(n) for n in range(len(NAMES))]


def test_long_cells_are_cut_in_pages_alone(hostile: Explorer) -> None:
    row = next(row for row in hostile.table("entities").rows if str(row[1]).startswith("Ab"))
    assert (len(str(row[1])), str(row[1])[-1]) == (500, "…")
    assert hostile.entity(str(row[0])).title == LONG


def test_words_are_data_to_a_query(hostile: Explorer) -> None:
    for words in ("' or 1=1 --", "%", "_____", "\\", "$corpus", "{names}", "$word0"):
        assert hostile.find(words).entities_total == 0
        assert hostile.table("entities", Order(words=words)).matching == 0
    assert [one.title for one in hostile.find("<SCRIPT>alert(1)</script>").entities] == [NAMES[4]]
    assert [one.title for one in hostile.find("elodie").entities] == [NAMES[1]]
    assert [one.title for one in hostile.find("עולם").entities] == [NAMES[0]]
    assert hostile.document("d1").metadata == {"mood": "<b>gloomy</b>"}


@pytest.mark.long
def test_a_document_of_fifty_megabytes_is_read_by_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, tmp_path)
    line = f"É{WAVE} went by. "
    text = line * (50_000_000 // len(line.encode())) + "Hanna Quill came last. " + line * 100
    assert len(text.encode()) >= 50_000_000
    seen = publish_rows(rows_of(text, ("Hanna Quill",)))
    start = text.index("Hanna Quill")
    seen.text("d1", 0, 10)
    tracemalloc.start()
    found = seen.text("d1", cited=f"{start}-{start + 11}")
    (place,) = seen.entity("e0").mentions.mentions
    passages = seen.find("quill").passages
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "".join(part.text for part in found.parts) == text[found.start : found.end]
    assert [part.text for part in found.parts if part.cited] == ["Hanna Quill"]
    assert (place.before, place.words, place.after) == ("", "Hanna Quill", " came last.")
    assert passages[0].words == "Quill"
    assert peak < 5_000_000


def test_a_word_is_found_at_its_place() -> None:
    text = f"{WAVE} İstanbul, E\u0301LODIE"
    for word in ("istanbul", "élodie", "ELODIE"):
        span = place_of(text, word)
        assert span is not None
        assert fold(text[span.start : span.end]) == fold(word)
    # An accent behind its letter, and a syllable in parts, are marked whole.
    for text, word, marked in (("The cafe\u0301.", "cafe", "cafe\u0301"), ("A 각각.", "가", "각")):
        span = place_of(text, word)
        assert span is not None
        assert text[span.start : span.end] == marked
    assert place_of(text, "nobody") is None
    assert place_of(text, "") is None
