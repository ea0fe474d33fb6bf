"""Rows of tables that a question names are quoted with their header, whatever form they stand in."""

import pytest

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.table_rows import tables_of

EMBEDDER = StaticEmbedder()


class Units:
    """The text units of one document."""

    def __init__(self, *texts: str) -> None:
        self.texts = dict(enumerate(texts))

    def before(self, unit_id: str) -> str | None:
        return str(int(unit_id) - 1) if int(unit_id) else None

    def words(self, quote: Quote) -> str:
        return self.texts[int(quote.unit_id)][quote.span.start : quote.span.end]

    def document(self, _: str) -> str:
        return "a"

    def told(self) -> bool:
        return False

    def day(self, _: str) -> None:
        return None

    def cut(self, quote: Quote) -> bool:
        text = self.texts[int(quote.unit_id)]
        return not text[: quote.span.start].strip() or not text[quote.span.end :].strip()

    def code(self, _: Quote) -> bool:
        return False

    def names(self, _: str) -> list[tuple[str, str]]:
        return []

    def phrases(self) -> list[object]:
        return []


def quoted(question: str, *texts: str, title: str = "a") -> list[str]:
    """What is quoted of a document, verbatim but for its blanks; only the last text unit is in the context."""
    units = Units(*texts)
    last = len(texts) - 1
    spans = sentence_spans(texts[-1])
    sentences = tuple((" ".join(texts[-1][s.start : s.end].split()), Quote(str(last), s)) for s in spans)
    row = ContextUnit(1, title, texts[-1], sentences, "source", units)
    found = ExtractiveAnswerer(EMBEDDER).answer(question, [row], texts[-1] * 4)
    return [" ".join(units.words(quote).split()) for _, _, quote in found.quotes if quote]


FIRST, LAST = ("Abel", "Berit", "Conrad", "Dorte"), ("Moe", "Lund", "Vik")
PEOPLE = [
    (f"{first} {last}", str(1880 + 7 * i + j), str(410 + 31 * i + 7 * j))
    for i, first in enumerate(FIRST)
    for j, last in enumerate(LAST)
]
BARS = "| Pilot | Year of licence | Fee in crowns |\n|---|---|---|\n" + "".join(
    f"| {' | '.join(row)} |\n" for row in PEOPLE
)
TABS = "Pilot\tYear of licence\tFee in crowns\n" + "".join("\t".join(row) + "\n" for row in PEOPLE)
COLUMNS = f"{'Pilot':20}{'Year of licence':20}Fee in crowns\n" + "".join(
    f"{n:20}{y:20}{f}\n" for n, y, f in PEOPLE
)
SIGNS = "Pilot;Year of licence;Fee in crowns\n" + "".join(";".join(row) + "\n" for row in PEOPLE)
COMMAS = "Pilot,Year of licence,Fee in crowns\n" + "".join(",".join(row) + "\n" for row in PEOPLE)
CASES = [BARS, TABS, COLUMNS, SIGNS, COMMAS, BARS.replace("|---|---|---|\n", "")]


@pytest.mark.parametrize("table", CASES, ids=["bars", "tabs", "columns", "semicolons", "commas", "unruled"])
@pytest.mark.parametrize(
    "before", ["", "# The pilots of Fjordvik\n\nAll of them were paid by the harbour.\n\n"]
)
def test_a_named_row_has_its_header_and_no_other(table: str, before: str) -> None:
    header, row = quoted("What fee did Conrad Lund get?", before + table + "\nThe list ends here.")
    assert ("Fee in crowns" in header, "1895" in row, "479" in row) == (True, True, True)
    assert not any(name in header + row for name, _, _ in PEOPLE if name != "Conrad Lund")


def test_the_header_may_stand_in_an_earlier_text_unit() -> None:
    lines = BARS.splitlines(keepends=True)
    texts = ["".join(lines[:6]) + "| Ber", "it Moe | 1 |\n" + "".join(lines[6:9]), "".join(lines[8:])]
    assert quoted("What fee did Dorte Lund get?", *texts) == [
        "Pilot | Year of licence | Fee in crowns", "Dorte Lund | 1902 | 510"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How heavy is the bell Old Cecilia?", ["Weights of the bells", "Old Cecilia: 2044 kg"]),
        ("What is the weight of Old Cecilia?", ["Weights of the bells", "Old Cecilia: 2044 kg"]),
        ("What rent does Ulf Skeid pay?", ["Name: Ulf Skeid", "Rent: 25 crowns"]),
        ("Which trade has Ulf Skeid?", ["Name: Ulf Skeid", "Trade: smith"]),
        ("Which ship has a crew of six?", ["Ship | Crew | Home", "Falken | 6 | Molde"]),
        ("Which ship has Molde as its home?", ["Ship | Crew | Home", "Falken | 6 | Molde"]),
        ("What is the length of the Ternen?", ["Ship | Measures | | | | Length in metres | Draught", "Ternen | 27 | 2.8"]),
    ],
)  # fmt: skip
def test_rows_of_other_forms(question: str, expected: list[str]) -> None:
    text = (
        "# Weights of the bells\n\nGreat Agatha: 5120 kg\nOld Cecilia: 2044 kg\n\n"
        "Name: Tove Grann\nTrade: cooper\nRent: 18 crowns\n\nName: Ulf Skeid\nTrade: smith\nRent: 25 crowns\n\n"
        "| Ship | Crew | Home |\n| Svanen | 9 | Bergen |\n| Falken | 6 | Molde |\n\n"
        "| Ship | Measures |  |\n|  | Length in metres | Draught |\n| Svanen | 31 | 3.2 |\n| Ternen | 27 | 2.8 |\n\nNo more.\n"
    )
    assert quoted(question, text) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Where did Conrad Lund die?",
        "What fee did Conrad Holm get?",
        "Which pilots wrote to the king of Denmark?",
    ],
)
def test_no_row_answers_what_it_does_not_tell(question: str) -> None:
    assert not any(
        "|" in words for words in quoted(question, f"The pilots of Fjordvik.\n\n{BARS}\nThe list ends here.")
    )


def test_a_row_says_who_holds_an_office() -> None:
    text = "The board met.\n\n| Office | Holder |\n| --- | --- |\n| Auditor | Otto Weill |\n| Clerk | Ida Ness |\n\nIt ended.\n"
    assert quoted("Who is the auditor?", text) == ["Office | Holder", "Auditor | Otto Weill"]


def test_prose_about_a_name_comes_before_its_row() -> None:
    text = f"{BARS}\nConrad Lund was the eldest son of a smith and died in 1931.\n"
    assert quoted("Who was Conrad Lund?", text)[0].startswith("Conrad Lund was the eldest son")


@pytest.mark.parametrize(
    "text",
    [
        "Anna Holm, the keeper, left\nBo Lie, Ida Ness and others, came\nOskar, the smith stayed\n",
        "anna: is it open\ntomas: yes\nanna: since when\n",
        "Note: it was closed in May.\nSource: the harbour's own books of that year.\n",
        "One line with | a bar\n",
    ],
)
def test_what_is_no_table(text: str) -> None:
    assert list(tables_of(f"Before.\n{text}After.\n")) == []
