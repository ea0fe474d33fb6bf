"""Text units: windows of the documents' texts (paper §3.1.1, spec_graphrag §2)."""

from collections.abc import Iterator, Sequence

import polars as pl

from graphrag_dagster.core.corpus.character_windows import character_windows
from graphrag_dagster.core.corpus.sentence_packing import pack_sentences
from graphrag_dagster.core.corpus.unit_checks import check_texts, check_units
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.text.tokens import Tokenizer, Window, get_tokenizer
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.tables import TEXT_CHUNKS

__all__ = ["STRATEGIES", "check_texts", "check_units", "cut"]

STRATEGIES = ("tokens", "sentences", "characters", "none")


def cut(documents: pl.DataFrame, *, strategy: str, size: int, overlap: int, encoding: str) -> pl.DataFrame:
    """Cut documents into text units; the columns are those of ``corpus.text_chunks``.

    ``documents`` needs ``document_id``, ``human_readable_id`` and ``text``; its order does not matter. The
    units of a document cover every character of it. ``tokens``: windows by the count rule; their number of
    tokens is the window's. ``sentences``: whole sentences with the white space after them, up to ``size``
    tokens, beginning with the last sentences of the unit before up to ``overlap`` tokens; a longer sentence
    is cut by token windows. ``characters``: windows of up to ``size`` characters, ``overlap`` of them
    shared, that end at a boundary of the text (:func:`.character_windows`). ``none``: one unit per document.
    All but the first count the tokens of the unit's text.

    Raises:
        SettingsError: an unknown strategy or encoding, or not 0 ≤ overlap < size.
    """
    if strategy not in STRATEGIES:
        raise SettingsError(f"text_units.strategy is {strategy!r}; allowed: {', '.join(STRATEGIES)}")
    tokenizer = get_tokenizer(encoding)
    ordered = documents.select("human_readable_id", "document_id", "text").sort("human_readable_id")
    ids, texts = ordered["document_id"].to_list(), ordered["text"].to_list()
    windows = _windows(texts, strategy, size, overlap, tokenizer)
    same = {"encoding": encoding, "strategy": strategy}
    rows = enumerate(_rows(ids, texts, windows))
    return TEXT_CHUNKS.rows({**row, **same, "human_readable_id": number} for number, row in rows)


def _windows(
    texts: Sequence[str], strategy: str, size: int, overlap: int, tokenizer: Tokenizer
) -> list[list[Window]]:
    if strategy == "none":
        counts = tokenizer.counts(texts)
        return [[(0, len(text), count)] if text else [] for text, count in zip(texts, counts, strict=True)]
    if strategy == "sentences":
        return pack_sentences(texts, size, overlap, tokenizer)
    if strategy == "characters":
        return _counted(texts, [character_windows(text, size, overlap) for text in texts], tokenizer)
    return tokenizer.windows_of_many(texts, size, overlap)


def _counted(
    texts: Sequence[str], ranges: Sequence[Sequence[tuple[int, int]]], tokenizer: Tokenizer
) -> list[list[Window]]:
    both = list(zip(texts, ranges, strict=True))
    counts = iter(tokenizer.counts([text[start:end] for text, places in both for start, end in places]))
    return [[(start, end, next(counts)) for start, end in places] for places in ranges]


def _rows(
    ids: Sequence[str], texts: Sequence[str], windows: Sequence[Sequence[Window]]
) -> Iterator[dict[str, object]]:
    for document_id, text, parts in zip(ids, texts, windows, strict=True):
        for position, (start, end, tokens) in enumerate(parts):
            part = text[start:end]
            yield {
                "text_unit_id": stable_id(document_id, position, part),
                "document_id": document_id,
                "position": position,
                "start_char": start,
                "end_char": end,
                "text": part,
                "tokens": tokens,
            }
