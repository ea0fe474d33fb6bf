"""Packs whole sentences into units of limited length."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.kernel.text.tokens import Tokenizer, Window

#: First and one past the last sentence of a unit.
Range = tuple[int, int]


def pack_sentences(texts: Sequence[str], size: int, overlap: int, tokenizer: Tokenizer) -> list[list[Window]]:
    """Return for each text units of whole sentences, each up to ``size`` tokens.

    A sentence takes the white space after it, the first also that before it. A unit begins with those last
    sentences of the unit before that have together at most ``overlap`` tokens and leave room for a new one.
    A sentence of more than ``size`` tokens is cut by token windows and shares nothing with its neighbours.

    Raises:
        SettingsError: not 0 ≤ overlap < size.
    """
    if not 0 <= overlap < size:
        raise SettingsError(
            f"text_units.overlap ({overlap}) must be at least 0 and smaller than text_units.size ({size})"
        )
    edges = [_edges(text) for text in texts]
    costs = [
        _costs(edge, ends.tolist())
        for edge, ends in zip(edges, tokenizer.boundaries_of_many(texts), strict=True)
    ]
    result: list[list[Window]] = [[] for _ in texts]
    limits = {number: size for number, text in enumerate(texts) if text}
    # A unit may need a token or two more alone than the same words took inside the whole text.
    while limits:
        packed = {number: _packed(costs[number], limit, overlap) for number, limit in limits.items()}
        counted = _counted(texts, edges, packed, tokenizer)
        limits = _lowered(limits, packed, counted, size)
        for number in packed.keys() - limits.keys():
            result[number] = _windows(texts[number], counted[number], size, overlap, tokenizer)
    return result


def _edges(text: str) -> list[int]:
    """Start of each sentence, and the end of the text."""
    starts = [span.start for span in sentence_spans(text)]
    return [0, *starts[1:], len(text)]


def _costs(edges: Sequence[int], token_starts: Sequence[int]) -> list[int]:
    """Tokens of the whole text that begin in each sentence."""
    places = [bisect_left(token_starts, edge) for edge in edges]
    return [after - before for before, after in pairwise(places)]


def _packed(costs: Sequence[int], size: int, overlap: int) -> list[Range]:
    ranges: list[Range] = []
    begin, place, total = 0, 0, 0
    while place < len(costs):
        if place == begin or total + costs[place] <= size:
            total += costs[place]
            place += 1
        else:
            ranges.append((begin, place))
            begin, total = _shared(costs, begin, place, size, overlap)
    return [*ranges, (begin, place)]


def _shared(costs: Sequence[int], begin: int, place: int, size: int, overlap: int) -> tuple[int, int]:
    """Start of the next unit, and the tokens of the shared sentences."""
    first, total = place, 0
    while first > begin + 1 and total + costs[first - 1] <= min(overlap, size - costs[place]):
        first -= 1
        total += costs[first]
    return first, total


def _counted(
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


def _lowered(
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


def _windows(
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
