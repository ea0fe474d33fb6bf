"""Whether text units are what :func:`~graphrag_dagster.core.corpus.text_units.cut` promises."""

import polars as pl

from graphrag_dagster.core.text.tokens import get_tokenizer, window_count

_KEYS = ("document_id", "position")


def check_units(documents: pl.DataFrame, units: pl.DataFrame, size: int, overlap: int) -> list[str]:
    """Return what is wrong with the units of these documents, an empty list if nothing is.

    Checked: every document with text has units and every unit a document; positions count from 0; the units
    of a document begin and end with it, move forward and leave no character out; each text is what stands
    between its offsets; for token windows the count rule of spec_graphrag §2 holds and no window has more
    than ``size`` tokens; no window of characters has more of these, or shares more than ``overlap`` of them.
    """
    whole = documents.select("document_id", pl.col("text").alias("whole"))
    ordered = units.sort(_KEYS)
    problems = [*_unmatched(whole, ordered), *_wrong_texts(whole, ordered), *_gaps(whole, ordered)]
    windows = ordered.filter(pl.col("strategy") == "tokens")
    if windows.height:
        problems += _wrong_windows(whole, windows, size, overlap)
    return problems + _wrong_ranges(ordered.filter(pl.col("strategy") == "characters"), size, overlap)


def check_texts(documents: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    """Return which units, cut elsewhere, are not what stands between their offsets in these documents."""
    return _wrong_texts(documents.select("document_id", pl.col("text").alias("whole")), units.sort(_KEYS))


def _problem(wrong: pl.DataFrame, meaning: str) -> list[str]:
    if not wrong.height:
        return []
    keys = [name for name in _KEYS if name in wrong.columns]
    examples = ", ".join(
        " ".join(f"{key} {value}" for key, value in row.items())
        for row in wrong.select(keys).head(3).iter_rows(named=True)
    )
    return [f"{wrong.height} {meaning}, e.g. {examples}"]


def _unmatched(whole: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    written = whole.filter(pl.col("whole").str.len_bytes() > 0)
    return [
        *_problem(written.join(units, on="document_id", how="anti"), "documents have no unit"),
        *_problem(units.join(whole, on="document_id", how="anti"), "units have no document"),
    ]


def _wrong_texts(whole: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    texts = dict(whole.select("document_id", "whole").iter_rows())
    columns = units.select("document_id", "start_char", "end_char", "text")
    # Slicing strings in Polars walks each document from its beginning; Python goes straight there.
    wrong = [
        texts.get(document_id, "")[start:end] != text for document_id, start, end, text in columns.iter_rows()
    ]
    return _problem(
        units.filter(pl.Series(wrong, dtype=pl.Boolean)), "units whose text is not what their offsets say"
    )


def _gaps(whole: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    in_document = pl.col("position").rank("ordinal").over("document_id") - 1
    before = pl.col("end_char").shift(1).over("document_id")
    start_before = pl.col("start_char").shift(1).over("document_id")
    checked = units.select(*_KEYS, "start_char", "end_char").with_columns(
        wrong_position=pl.col("position") != in_document,
        gap=pl.col("start_char") > before.fill_null(0),
        backward=(pl.col("start_char") < start_before).fill_null(value=False),
        blank=pl.col("start_char") >= pl.col("end_char"),
    )
    ends = checked.group_by("document_id").agg(pl.col("end_char").max()).join(whole, on="document_id")
    return [
        *_problem(checked.filter("wrong_position"), "units whose position does not count from 0"),
        *_problem(checked.filter("gap"), "units that leave out characters before them"),
        *_problem(checked.filter("backward"), "units that begin before the unit in front of them"),
        *_problem(checked.filter("blank"), "units without a character"),
        *_problem(
            ends.filter(pl.col("end_char") != pl.col("whole").str.len_chars()).sort("document_id"),
            "documents whose units do not end where they end",
        ),
    ]


def _wrong_windows(whole: pl.DataFrame, windows: pl.DataFrame, size: int, overlap: int) -> list[str]:
    tokenizer = get_tokenizer(windows["encoding"][0])
    counts = windows.group_by("document_id").len().join(whole, on="document_id").sort("document_id")
    wanted = [window_count(tokens, size, overlap) for tokens in tokenizer.counts(counts["whole"].to_list())]
    return [
        *_problem(
            counts.filter(pl.col("len") != pl.Series(wanted, dtype=pl.Int64)),
            f"documents whose number of windows is not that of size {size} and overlap {overlap}",
        ),
        *_problem(windows.filter(pl.col("tokens") > size), f"windows of more than {size} tokens"),
    ]


def _wrong_ranges(windows: pl.DataFrame, size: int, overlap: int) -> list[str]:
    shared = pl.col("end_char").shift(1).over("document_id") - pl.col("start_char")
    return [
        *_problem(
            windows.filter(pl.col("end_char") - pl.col("start_char") > size),
            f"windows of more than {size} characters",
        ),
        *_problem(
            windows.filter(shared > overlap),
            f"windows that share more than {overlap} characters with the one before",
        ),
    ]
