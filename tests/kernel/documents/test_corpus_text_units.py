import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.documents.text_units import STRATEGIES, check_units, cut_text_units
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from support.reading import read_corpus

PROSE = " ".join(f"Sentence {number} tells of the harbour and of the barge." for number in range(60))
TEXTS = st.text(
    alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("a b. A\n港。😀é")),
    min_size=1,
    max_size=120,
)


def documents(*texts: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "document_id": [stable_id(text, place) for place, text in enumerate(texts)],
            "human_readable_id": range(len(texts)),
            "text": texts,
        },
        schema_overrides={"human_readable_id": pl.Int32, "text": pl.String, "document_id": pl.String},
    )


def units(frame: pl.DataFrame, strategy: str = "tokens", size: int = 600, overlap: int = 100) -> pl.DataFrame:
    return cut_text_units(frame, strategy=strategy, size=size, overlap=overlap, encoding="cl100k_base")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_columns_order_and_coverage(strategy: str) -> None:
    frame = documents(PROSE, "Short.", "港の町。" * 300)
    cut_up = units(frame, strategy, 50, 10)
    assert cut_up.schema == tables.TEXT_CHUNKS.empty().schema
    tables.TEXT_CHUNKS.validated(cut_up)
    assert cut_up["human_readable_id"].to_list() == list(range(cut_up.height))
    assert check_units(frame, cut_up) == []
    assert cut_up.equals(units(frame.reverse(), strategy, 50, 10))
    first = cut_up.row(0, named=True)
    assert first["text_unit_id"] == stable_id(first["document_id"], 0, first["text"])


def test_a_unit_keeps_its_id_when_another_document_comes() -> None:
    alone = units(documents(PROSE), size=50, overlap=10)
    both = units(documents(PROSE, "Another text."), size=50, overlap=10)
    assert set(alone["text_unit_id"]) < set(both["text_unit_id"])


def test_none_makes_one_unit_per_document() -> None:
    cut_up = units(documents(PROSE, "Short."), "none")
    assert cut_up["text"].to_list() == [PROSE, "Short."]
    assert cut_up["tokens"].to_list() == get_tokenizer("cl100k_base").counts([PROSE, "Short."])


def test_sentences_are_kept_whole_and_shared_whole() -> None:
    cut_up = units(documents(PROSE), "sentences", 50, 15)
    assert cut_up["tokens"].max() <= 50
    whole = {PROSE[span.start : span.end] for span in sentence_spans(PROSE)}
    for text in cut_up["text"]:
        assert {text[span.start : span.end] for span in sentence_spans(text)} <= whole
    ends = cut_up["end_char"].to_list()[:-1]
    starts = cut_up["start_char"].to_list()[1:]
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert units(documents(PROSE), "sentences", 50, 0)["text"].str.join("").item() == PROSE


def test_a_sentence_beyond_the_size_is_cut_by_windows() -> None:
    text = f"First one. Then {'word, ' * 100}end. Last one."
    cut_up = units(documents(text), "sentences", 30, 5)
    assert cut_up.height > 4
    assert cut_up["text"][0] == "First one. "
    assert cut_up["text"].to_list()[-1] == "Last one."
    assert check_units(documents(text), cut_up) == []


GUIDE = (
    "# The lamp\n\nThe keeper lights it at dusk. It burns all night.\n\n## The oil\n\nTo refill the tank:\n\n"
    "- Close the valve.\n- Open the cap.\n\n| Tank | Litres |\n| --- | --- |\n| east | 40 |\n\nMind the wick.\n"
)


def test_structure_keeps_headings_lists_and_tables_with_what_they_belong_to() -> None:
    cut_up = units(documents(GUIDE), "structure", 30, 0)
    assert cut_up["text"].str.join("").item() == GUIDE
    assert [text.split("\n")[0] for text in cut_up["text"]] == [
        "# The lamp",
        "## The oil",
        "| Tank | Litres |",
    ]


def test_a_block_beyond_the_size_is_cut_between_sentences() -> None:
    text = f"# Log\n\n{'It was a calm night. ' * 40}\n\nEnd.\n"
    cut_up = units(documents(text), "structure", 30, 0)
    assert cut_up["tokens"].max() <= 30
    assert all(part.startswith(("# Log", "It was", "End.")) for part in cut_up["text"])
    assert check_units(documents(text), cut_up) == []


@settings(deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.sampled_from(STRATEGIES),
    st.integers(1, 9),
    st.data(),
)
def test_any_text_is_covered(texts: list[str], strategy: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    frame = documents(*texts)
    cut_up = units(frame, strategy, size, overlap)
    assert check_units(frame, cut_up) == []
    tables.TEXT_CHUNKS.validated(cut_up)
    if strategy in ("tokens", "characters"):
        length = cut_up["tokens"] if strategy == "tokens" else cut_up["end_char"] - cut_up["start_char"]
        assert (length <= size).all()


def windows(text: str, size: int, overlap: int = 0) -> list[str]:
    return units(documents(text), "characters", size, overlap)["text"].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two three.\n\nFour. Five\nsix seven", ["One two three.\n\n", "Four. Five\nsix seven"]),
        ("One two three.\r\n\r\nFour five six.", ["One two three.\r\n\r\n", "Four five six."]),
        ("One two three\nfour. Five six.", ["One two three\n", "four. Five six."]),
        ("One is two. Two is three.", ["One is two. ", "Two is three."]),
        ("one two three four five six", ["one two three four ", "five six"]),
        (
            "港の町は静か。船が来る。人が見る。魚も跳ねる。空",
            ["港の町は静か。船が来る。人が見る。", "魚も跳ねる。空"],
        ),
        ("x" * 45, ["x" * 20, "x" * 20, "x" * 5]),
        ("abcdefghi " + "y" * 25, ["abcdefghi ", "y" * 20, "y" * 5]),
        ("z" * 19 + "e\u0301" + "z" * 3, ["z" * 19, "e\u0301zzz"]),
        (" " * 30, [" " * 20, " " * 10]),
    ],
)
def test_windows_of_characters_end_where_most_ends(text: str, expected: list[str]) -> None:
    assert windows(text, 20) == expected


def test_windows_of_characters_share_whole_words_where_there_are_any() -> None:
    first, second, *_ = windows(PROSE, 100, 20)
    assert first.endswith("harbour and of the barge. ")
    assert second.startswith("and of the barge. Sentence 2 ")
    assert windows("x" * 45, 20, 5) == ["x" * 20, "x" * 20, "x" * 15]


@settings(deadline=None)
@given(TEXTS.map(lambda text: text * 3), st.integers(2, 60), st.data())
def test_windows_of_characters_end_late(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 4))
    cut_up = windows(text, size, overlap)
    marked = any(unicodedata.category(char)[0] == "M" or char in "\u200d\r" for char in text)
    assert all(len(part) >= size // 2 or marked for part in cut_up[:-1])
    assert windows(text, len(text)) == [text]


def test_a_text_of_nothing_but_accents_is_cut_at_the_limit() -> None:
    assert {len(part) for part in windows("\u0301" * 2000, 200)} == {200}


def test_no_documents_make_no_units() -> None:
    assert units(documents()).height == 0
    assert check_units(documents(), units(documents())) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"strategy": "lines"},
            "text_units.strategy is 'lines'; use one of tokens, sentences, structure, characters, none",
        ),
        ({"overlap": 600}, "overlap"),
        ({"encoding": "gpt2"}, "text_units.encoding"),
        ({"strategy": "sentences", "overlap": -1}, "overlap"),
        ({"strategy": "characters", "size": 20, "overlap": 20}, "overlap"),
    ],
)
def test_settings_are_checked(wrong: dict[str, object], message: str) -> None:
    given_settings = {"strategy": "tokens", "size": 600, "overlap": 100, "encoding": "cl100k_base"} | wrong
    with pytest.raises(SettingsError, match=message):
        cut_text_units(documents("a"), **given_settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda frame: frame.filter(pl.col("position") != 1), "position"),
        (lambda frame: frame.filter(pl.col("position") != 1), "leave out characters"),
        (lambda frame: frame.head(-1), "do not end where they end"),
        (lambda frame: frame.head(0), None),
        (lambda frame: frame.with_columns(text=pl.lit("x")), "not what their offsets say"),
        (lambda frame: frame.with_columns(document_id=pl.lit("x")), "have no document"),
        (lambda frame: frame.with_columns(document_id=pl.lit("x")), "have no unit"),
        (lambda frame: frame.with_columns(end_char=pl.col("start_char")), "without a character"),
        (lambda frame: frame.with_columns(start_char=-pl.col("position")), "begin before"),
    ],
)
def test_checks_find_damage(damage: object, message: str | None) -> None:
    frame = documents(PROSE)
    problems = check_units(frame, damage(units(frame, size=50, overlap=0)))  # type: ignore[operator]
    assert any((message or "have no unit") in problem for problem in problems)


@pytest.mark.long
def test_the_podcast_corpus(podcast: Path) -> None:
    """Spec §2 and §7: 1,669 texts of exactly 1,014,611 tokens, the figure of the paper's Table 2."""
    contents = read_corpus(podcast)
    whole = units(contents.documents, "none")
    assert contents.files["status"].unique().to_list() == ["read"]
    assert (whole.height, whole["tokens"].sum(), whole["tokens"].max()) == (1669, 1_014_611, 628)
    windows = units(contents.documents)
    assert check_units(contents.documents, windows) == []
    packed = units(contents.documents, "sentences")
    assert packed["tokens"].max() <= 600
    assert check_units(contents.documents, packed) == []
    cut_up = units(contents.documents, "characters", 200, 20)
    assert check_units(contents.documents, cut_up) == []
    assert cut_up["text"].str.len_chars().mean() > 150
