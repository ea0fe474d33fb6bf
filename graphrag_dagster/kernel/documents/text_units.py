"""Text units: windows of the documents' texts (GraphRAG paper §3.1.1)."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables.core_tables import TEXT_CHUNKS
from graphrag_dagster.kernel.text.blocks import Block, places_to_cut, read_blocks
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.tokenization import Tokenizer, Window, get_tokenizer

#: First and one past the last sentence of a unit.
Range = tuple[int, int]


def pack_sentences(texts: Sequence[str], size: int, overlap: int, tokenizer: Tokenizer) -> list[list[Window]]:
    """Return for each text units of whole sentences, each up to ``size`` tokens.

    A sentence takes the white space after it, the first also that before it. A unit begins with those last
    sentences of the unit before that have together at most ``overlap`` tokens and leave room for a new one.
    A sentence of more than ``size`` tokens is cut by token windows and shares nothing with its neighbours.
    """
    ends = [found.tolist() for found in tokenizer.boundaries_of_many(texts)]
    edges = [_sentence_edges(text) for text in texts]
    return _packed(texts, edges, ends, size, overlap, tokenizer)


def pack_blocks(texts: Sequence[str], size: int, overlap: int, tokenizer: Tokenizer) -> list[list[Window]]:
    """Return for each text units of whole blocks (:mod:`.blocks`), each up to ``size`` tokens.

    A heading stays with what stands below it, and a line that ends in a colon with what it introduces. A
    unit that is half full ends before a heading. A block of more than ``size`` tokens is cut between
    sentences. Overlap: as for :func:`pack_sentences`, of blocks.
    """
    ends = [found.tolist() for found in tokenizer.boundaries_of_many(texts)]
    edges, headings = [], []
    for text, own in zip(texts, ends, strict=True):
        blocks = read_blocks(text)
        headings.append({block.span.start for block in blocks if block.kind == "heading"})
        edges.append(list(_block_edges(text, blocks, own, size)))
    return _packed(texts, edges, ends, size, overlap, tokenizer, headings)


def _block_edges(text: str, blocks: Sequence[Block], ends: Sequence[int], size: int) -> Iterator[int]:
    """Places between blocks, and of those that are too long between sentences."""
    for start, end in pairwise([*places_to_cut(text, blocks), len(text)]):
        yield start
        if bisect_left(ends, end) - bisect_left(ends, start) > size:
            inner = sorted(
                {span.start + start for span in sentence_spans(text[start:end])[1:]}
                | {block.span.start for block in blocks if start < block.span.start < end}
            )
            yield from inner
    yield len(text)


def _packed(
    texts: Sequence[str],
    edges: Sequence[Sequence[int]],
    ends: Sequence[Sequence[int]],
    size: int,
    overlap: int,
    tokenizer: Tokenizer,
    headings: Sequence[Collection[int]] | None = None,
) -> list[list[Window]]:
    """Pack what lies between the edges of each text, whose tokens begin at ``ends``."""
    costs = [_sentence_costs(edge, own) for edge, own in zip(edges, ends, strict=True)]
    fresh = [
        {place for place, edge in enumerate(edge_list) if headings and edge in headings[number]}
        for number, edge_list in enumerate(edges)
    ]
    result: list[list[Window]] = [[] for _ in texts]
    limits = {number: size for number, text in enumerate(texts) if text}
    # A unit may need a token or two more alone than the same words took inside the whole text.
    while limits:
        packed = {
            number: _pack(costs[number], limit, overlap, fresh[number]) for number, limit in limits.items()
        }
        counted = _token_counts(texts, edges, packed, tokenizer)
        limits = _lower_limits(limits, packed, counted, size)
        for number in packed.keys() - limits.keys():
            result[number] = _pack_windows(texts[number], counted[number], size, overlap, tokenizer)
    return result


def _sentence_edges(text: str) -> list[int]:
    """Start of each sentence, and the end of the text."""
    starts = [span.start for span in sentence_spans(text)]
    return [0, *starts[1:], len(text)]


def _sentence_costs(edges: Sequence[int], token_starts: Sequence[int]) -> list[int]:
    """Tokens of the whole text that begin in each sentence."""
    places = [bisect_left(token_starts, edge) for edge in edges]
    return [after - before for before, after in pairwise(places)]


def _pack(costs: Sequence[int], size: int, overlap: int, fresh: Collection[int] = ()) -> list[Range]:
    ranges: list[Range] = []
    begin, place, total = 0, 0, 0
    while place < len(costs):
        ends_here = place in fresh and 2 * total >= size
        if place == begin or (total + costs[place] <= size and not ends_here):
            total += costs[place]
            place += 1
        else:
            ranges.append((begin, place))
            begin, total = _overlap(costs, begin, place, size, overlap)
    return [*ranges, (begin, place)]


def _overlap(costs: Sequence[int], begin: int, place: int, size: int, overlap: int) -> tuple[int, int]:
    """Start of the next unit, and the tokens of the shared sentences."""
    first, total = place, 0
    while first > begin + 1 and total + costs[first - 1] <= min(overlap, size - costs[place]):
        first -= 1
        total += costs[first]
    return first, total


def _token_counts(
    texts: Sequence[str],
    edges: Sequence[Sequence[int]],
    packed: Mapping[int, Sequence[Range]],
    tokenizer: Tokenizer,
) -> dict[int, list[Window]]:
    """Position of each unit in its text, and the tokens of the unit alone."""
    places = [
        (number, edges[number][first], edges[number][last])
        for number, ranges in packed.items()
        for first, last in ranges
    ]
    counts = tokenizer.counts([texts[number][start:end] for number, start, end in places])
    windows: dict[int, list[Window]] = {number: [] for number in packed}
    for (number, start, end), count in zip(places, counts, strict=True):
        windows[number].append((start, end, count))
    return windows


def _lower_limits(
    limits: Mapping[int, int],
    packed: Mapping[int, Sequence[Range]],
    counted: Mapping[int, Sequence[Window]],
    size: int,
) -> dict[int, int]:
    """Smaller limits for the texts in which a unit of several sentences is too long."""
    excess = {
        number: max(
            (
                count - size
                for (first, last), (_, _, count) in zip(packed[number], counted[number], strict=True)
                if last - first > 1
            ),
            default=0,
        )
        for number in limits
    }
    return {number: limit - excess[number] for number, limit in limits.items() if excess[number] > 0}


def _pack_windows(
    text: str, units: Sequence[Window], size: int, overlap: int, tokenizer: Tokenizer
) -> list[Window]:
    windows: list[Window] = []
    for start, end, count in units:
        if count <= size:
            windows.append((start, end, count))
            continue
        parts = tokenizer.windows(text[start:end], size, overlap)
        counts = tokenizer.counts([text[start + first : start + last] for first, last, _ in parts])
        windows += [
            (start + first, start + last, tokens)
            for (first, last, _), tokens in zip(parts, counts, strict=True)
        ]
    return windows


STRATEGIES = ("tokens", "sentences", "structure", "characters", "none")


def cut_text_units(
    documents: pl.DataFrame,
    *,
    strategy: str,
    size: int,
    overlap: int,
    encoding: str,
    whole_words: bool = False,
) -> pl.DataFrame:
    """Cut documents into text units; the columns are those of ``corpus.text_chunks``.

    ``documents`` needs ``document_id``, ``human_readable_id`` and ``text``; its order does not matter. The
    units of a document cover every character of it. ``tokens``: windows by the count rule; their number of
    tokens is the window's; with ``whole_words`` one that would begin inside a word begins behind it, if what
    it leaves out is in the window before. ``sentences``: whole sentences with the white space after them, up
    to ``size`` tokens, beginning with the last sentences of the unit before up to ``overlap`` tokens; a
    longer sentence is cut by token windows. ``structure``: whole blocks of the text, that begin with their
    heading (:func:`pack_blocks`). ``characters``: windows of up to ``size`` characters, ``overlap``
    of them shared, that end at a boundary of the text (:func:`.character_windows`). ``none``: one unit per
    document.
    All but the first count the tokens of the unit's text.

    Raises:
        SettingsError: an unknown strategy or encoding, or not 0 ≤ overlap < size.
    """
    if strategy not in STRATEGIES:
        raise SettingsError(f"text_units.strategy is {strategy!r}; use one of {', '.join(STRATEGIES)}")
    if strategy != "none" and not 0 <= overlap < size:
        raise SettingsError(
            f"text_units.overlap ({overlap}) must be at least 0 and smaller than text_units.size ({size})"
        )
    tokenizer = get_tokenizer(encoding)
    ordered = documents.select("human_readable_id", "document_id", "text").sort("human_readable_id")
    ids, texts = ordered["document_id"].to_list(), ordered["text"].to_list()
    windows = _windows(texts, strategy, size, overlap, tokenizer, whole_words=whole_words)
    same = {"encoding": encoding, "strategy": strategy}
    rows = enumerate(_rows(ids, texts, windows))
    return TEXT_CHUNKS.rows({**row, **same, "human_readable_id": number} for number, row in rows)


def _windows(
    texts: Sequence[str], strategy: str, size: int, overlap: int, tokenizer: Tokenizer, *, whole_words: bool
) -> list[list[Window]]:
    if strategy == "none":
        counts = tokenizer.counts(texts)
        return [[(0, len(text), count)] if text else [] for text, count in zip(texts, counts, strict=True)]
    if strategy == "sentences":
        return pack_sentences(texts, size, overlap, tokenizer)
    if strategy == "structure":
        return pack_blocks(texts, size, overlap, tokenizer)
    if strategy == "characters":
        return _count_tokens(texts, [character_windows(text, size, overlap) for text in texts], tokenizer)
    return tokenizer.windows_of_many(texts, size, overlap, whole_words=whole_words)


def _count_tokens(
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


_BLANKS = re.compile(r"\s+")
_JOINER = "\u200d"


def character_windows(text: str, size: int, overlap: int) -> list[Range]:
    """Return windows of at most ``size`` characters that cover a text; of an empty text none.

    A window ends after the last blank line of its second half, else the last line end there, the last
    sentence end, the last white space; else, and inside a word alone, at its limit, but not between a
    character and its accents. The next begins with the first word of the last ``overlap`` characters of it,
    or ``overlap`` characters before its end where no word begins there.
    """
    kinds = _boundaries(text)
    words = kinds[-1]
    windows: list[Range] = []
    start = 0
    while start + size < len(text):
        # Past what is shared, so that every window has something of its own.
        least = start + max(size // 2, overlap + 1)
        end = _last_within(kinds, least, start + size) or _between_characters(text, least, start + size)
        windows.append((start, end))
        start = _first_within(words, end - overlap, end)
    return [*windows, (start, len(text))] if text else []


def _boundaries(text: str) -> tuple[Sequence[int], ...]:
    """Possible ends of a unit, by kind: after a blank line, a line end, a sentence end, white space."""
    words = [found.span() for found in _BLANKS.finditer(text)]
    line_ends = [(text.count("\n", start, end), end) for start, end in words]
    return (
        [end for newlines, end in line_ends if newlines > 1],
        [end for newlines, end in line_ends if newlines],
        [span.start for span in sentence_spans(text)],
        [end for _, end in words],
    )


def _last_within(kinds: Sequence[Sequence[int]], least: int, most: int) -> int | None:
    for places in kinds:
        found = bisect_right(places, most) - 1
        if found >= 0 and places[found] >= least:
            return places[found]
    return None


def _first_within(places: Sequence[int], least: int, end: int) -> int:
    found = bisect_left(places, least)
    return places[found] if found < len(places) and places[found] < end else least


def _between_characters(text: str, least: int, most: int) -> int:
    """The last place up to ``most`` that parts no character from its marks; ``most`` where there is none."""
    return next((place for place in range(most, least, -1) if not _is_joined(text, place)), most)


def _is_joined(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    marked = _JOINER in (before, after) or unicodedata.category(after).startswith("M")
    return marked or before + after == "\r\n"


_KEYS = ("document_id", "position")


def check_units(documents: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    """Return what is wrong with the units of these documents, an empty list if nothing is.

    Checked: every document with text has units and every unit a document; positions count from 0; the units
    of a document begin and end with it, move forward and leave no character out; each text is what stands
    between its offsets.
    """
    whole = documents.select("document_id", pl.col("text").alias("whole"))
    ordered = units.sort(_KEYS)
    return [*_unmatched_documents(whole, ordered), *_wrong_texts(whole, ordered), *_gaps(whole, ordered)]


def check_texts(documents: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    """Return which units, cut elsewhere, are not what stands between their offsets in these documents."""
    return _wrong_texts(documents.select("document_id", pl.col("text").alias("whole")), units.sort(_KEYS))


def _problem_lines(wrong: pl.DataFrame, meaning: str) -> list[str]:
    if not wrong.height:
        return []
    keys = [name for name in _KEYS if name in wrong.columns]
    examples = ", ".join(
        " ".join(f"{key} {value}" for key, value in row.items())
        for row in wrong.select(keys).head(3).iter_rows(named=True)
    )
    return [f"{wrong.height} {meaning}, e.g. {examples}"]


def _unmatched_documents(whole: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    written = whole.filter(pl.col("whole").str.len_bytes() > 0)
    return [
        *_problem_lines(written.join(units, on="document_id", how="anti"), "documents have no unit"),
        *_problem_lines(units.join(whole, on="document_id", how="anti"), "units have no document"),
    ]


def _wrong_texts(whole: pl.DataFrame, units: pl.DataFrame) -> list[str]:
    texts = dict(whole.select("document_id", "whole").iter_rows())
    columns = units.select("document_id", "start_char", "end_char", "text")
    # Slicing strings in Polars walks each document from its beginning; Python goes straight there.
    wrong = [
        texts.get(document_id, "")[start:end] != text for document_id, start, end, text in columns.iter_rows()
    ]
    return _problem_lines(
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
        *_problem_lines(checked.filter("wrong_position"), "units whose position does not count from 0"),
        *_problem_lines(checked.filter("gap"), "units that leave out characters before them"),
        *_problem_lines(checked.filter("backward"), "units that begin before the unit in front of them"),
        *_problem_lines(checked.filter("blank"), "units without a character"),
        *_problem_lines(
            ends.filter(pl.col("end_char") != pl.col("whole").str.len_chars()).sort("document_id"),
            "documents whose units do not end where they end",
        ),
    ]
