"""Phrases that distinguish the documents of a collection (English)."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from graphrag_dagster.kernel.text.english_words import COMMON, GENERAL, GENRES, STOP_WORDS, VERBS
from graphrag_dagster.kernel.text.text_similarity import stem

_RUN = r"[\p{L}][\p{L}\p{N}’'-]*|[^\s\p{L}]"
#: Most texts that are read, and the most occurrences per document that count.
_MOST_TEXTS, _CAP = 1_200, 8
#: Weights of phrases of one, two and three words, and the factor for names.
_BY_LENGTH, _NAME = (0.4, 1.0, 1.2), 0.6
_NO_PHRASE = STOP_WORDS | VERBS | COMMON | GENERAL | GENRES
#: Endings of words that no phrase ends in, or that no phrase contains.
_NO_NOUN = r"(?:ing|ed|est)$"
_ENDS = re.compile(r"(?:ing|ed|ly)\Z")
_NEVER = r"(?:ly|n['’]t|['’](?:re|ve|ll|d|m))$"

_WORDS = re.compile(r"[^\W_]+|[^\w\s]")
#: Number of sentences up to which two count as several.
_FEW = 12


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase in its most common form, the stems of its words, and the number of its documents."""

    form: str
    stems: tuple[str, ...]
    documents: int


def phrases(texts: Sequence[str], documents: Sequence[str], most: int) -> list[Phrase]:
    """Return the highest-weighted phrases of up to three words that share no word with a better one.

    The weight grows with the occurrences of a phrase, capped per document, and with its inverse document
    frequency. A phrase occurs in at least two documents if there are two. Of more than 1,200 texts, 1,200
    evenly spaced ones are read.

    Args:
        texts: in any order.
        documents: the document of each text.
        most: maximum number of phrases.
    """
    frame = pl.DataFrame(
        {"document": documents, "text": texts}, schema={"document": pl.Utf8, "text": pl.Utf8}
    )
    if frame.height > _MOST_TEXTS:
        frame = frame.gather([number * frame.height // _MOST_TEXTS for number in range(_MOST_TEXTS)])
    words = _words(frame)
    document_count = frame["document"].n_unique()
    counted = (
        pl.concat([_word_runs(words, length) for length in range(1, len(_BY_LENGTH) + 1)])
        .group_by("key", "length", "document")
        .agg(pl.len().clip(upper_bound=_CAP).alias("times"), pl.col("form").min())
        .group_by("key", "length")
        .agg(pl.col("times").sum(), pl.len().alias("documents"), _most_common_form())
        .filter(pl.col("documents") >= min(2, document_count))
    )
    inverse_frequency = ((document_count + 1) / pl.col("documents")).log()
    by_length = pl.col("length").replace_strict(dict(enumerate(_BY_LENGTH, 1)))
    name_factor = pl.when(pl.col("form").str.contains(r"^\p{Lu}")).then(_NAME).otherwise(1.0)
    ranked = counted.with_columns(
        weight=(pl.col("times") * inverse_frequency * by_length * name_factor).round(9)
    ).sort(["weight", "key"], descending=[True, False])
    chosen: list[Phrase] = []
    used: set[str] = set()
    for key, form, number in ranked.select("key", "form", "documents").iter_rows():
        stems = tuple(key.split())
        if len(chosen) == most:
            break
        # Runs of capitals are speaker labels or headings.
        is_distinct = len(set(stems)) == len(stems) and not used.intersection(stems)
        if is_distinct and not (" " in form and form.isupper()):
            used.update(stems)
            chosen.append(Phrase(form, stems, number))
    return chosen


def shared_phrases(sentences: Sequence[str]) -> list[str]:
    """Return the phrases of two lower-case words that several sentences share, most frequent first.

    Several means three, or two if there are at most twelve sentences.
    """
    forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        pairs = {
            (stem(first), stem(second)): f"{first} {second}"
            for first, second in pairwise(_WORDS.findall(sentence))
            if _is_lower_case(first) and _is_lower_case(second) and not _ENDS.search(second)
        }
        for key, form in pairs.items():
            forms[key][form] += 1
    totals = {key: counts.total() for key, counts in forms.items()}
    least = 2 if len(sentences) <= _FEW else 3
    shared = sorted((key for key in totals if totals[key] >= least), key=lambda key: (-totals[key], key))
    return [min(forms[key], key=lambda form: (-forms[key][form], form)) for key in shared]


def _is_lower_case(word: str) -> bool:
    return word.isalpha() and word.islower() and len(word) > 2 and word not in _NO_PHRASE


def _most_common_form() -> pl.Expr:
    return pl.col("form").sort().mode().sort().first().alias("form")


def _words(frame: pl.DataFrame) -> pl.DataFrame:
    """Return all words and symbols in order; ``key`` is the stem of a meaningful word, else null."""
    words = (
        frame.with_row_index("text_number")
        .with_columns(word=pl.col("text").str.extract_all(_RUN))
        .select("document", "text_number", "word")
        .explode("word")
        .drop_nulls("word")
    )
    distinct = words.select("word").unique()
    lower_case = distinct["word"].str.to_lowercase().to_list()
    keys = [
        stem(word)
        if len(word) > 2 and word[0].isalpha() and not _NO_PHRASE & {word, _strip_marks(word)}
        else None
        for word in lower_case
    ]
    keyed = distinct.with_columns(pl.Series("key", keys, dtype=pl.Utf8)).with_columns(
        key=pl.when(~pl.col("word").str.contains(_NEVER)).then("key")
    )
    return words.join(keyed, on="word", how="left", maintain_order="left")


def _strip_marks(word: str) -> str:
    return word.replace("’", "'").split("'")[0]


def _word_runs(words: pl.DataFrame, length: int) -> pl.DataFrame:
    """Return every run of ``length`` meaningful words within a text."""
    keys = [pl.col("key").shift(-step).over("text_number") for step in range(length)]
    forms = [pl.col("word").shift(-step).over("text_number") for step in range(length)]
    last = forms[-1]
    return (
        words.select(
            "document",
            pl.concat_str(keys, separator=" ").alias("key"),
            pl.concat_str(forms, separator=" ").alias("form"),
            last.alias("last"),
            pl.lit(length).alias("length"),
        )
        .drop_nulls("key")
        .filter(~pl.col("last").str.contains(_NO_NOUN) | pl.col("last").str.contains(r"^\p{Lu}"))
        .drop("last")
    )
