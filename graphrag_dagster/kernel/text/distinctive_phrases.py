"""Phrases that tell the documents of a collection apart (English)."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from graphrag_dagster.kernel.text.english_words import COMMON, GENERAL, GENRES, STOP_WORDS, VERBS
from graphrag_dagster.kernel.text.text_similarity import stem

_RUN = r"[\p{L}][\p{L}\p{N}’'-]*|[^\s\p{L}]"
#: Most texts that are read, and how often one document counts for a phrase at most.
_MOST_TEXTS, _CAP = 1_200, 8
#: What phrases of one, two and three words count, and a name against a common noun.
_BY_LENGTH, _NAME = (0.4, 1.0, 1.2), 0.6
_NO_PHRASE = STOP_WORDS | VERBS | COMMON | GENERAL | GENRES
#: Endings of words that no phrase ends in, or that no phrase holds.
_NO_NOUN = r"(?:ing|ed|est)$"
_ENDS = re.compile(r"(?:ing|ed|ly)\Z")
_NEVER = r"(?:ly|n['’]t|['’](?:re|ve|ll|d|m))$"

_WORDS = re.compile(r"[^\W_]+|[^\w\s]")
#: Sentences of which two are several.
_FEW = 12


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase as it is written most often, the stems of its words, and how many documents hold it."""

    form: str
    stems: tuple[str, ...]
    documents: int


def phrases(texts: Sequence[str], documents: Sequence[str], most: int) -> list[Phrase]:
    """Return the weightiest phrases of up to three words, without those that hold a word of a weightier one.

    A phrase weighs by how often it stands in the documents, few times of each, and by how far it is from
    being in every document. It stands in two at least, where there are two. Of more than 1,200 texts as many
    evenly spaced ones are read.

    Args:
        texts: in any order.
        documents: what each is a part of.
        most: phrases.
    """
    frame = pl.DataFrame(
        {"document": documents, "text": texts}, schema={"document": pl.Utf8, "text": pl.Utf8}
    )
    if frame.height > _MOST_TEXTS:
        frame = frame.gather([place * frame.height // _MOST_TEXTS for place in range(_MOST_TEXTS)])
    words = _words(frame)
    whole = frame["document"].n_unique()
    counted = (
        pl.concat([_runs(words, length) for length in range(1, len(_BY_LENGTH) + 1)])
        .group_by("key", "length", "document")
        .agg(pl.len().clip(upper_bound=_CAP).alias("times"), pl.col("form").min())
        .group_by("key", "length")
        .agg(pl.col("times").sum(), pl.len().alias("documents"), _most_common_form())
        .filter(pl.col("documents") >= min(2, whole))
    )
    apart = ((whole + 1) / pl.col("documents")).log()
    by_length = pl.col("length").replace_strict(dict(enumerate(_BY_LENGTH, 1)))
    named = pl.when(pl.col("form").str.contains(r"^\p{Lu}")).then(_NAME).otherwise(1.0)
    ranked = counted.with_columns(weight=(pl.col("times") * apart * by_length * named).round(9)).sort(
        ["weight", "key"], descending=[True, False]
    )
    found: list[Phrase] = []
    used: set[str] = set()
    for key, form, number in ranked.select("key", "form", "documents").iter_rows():
        stems = tuple(key.split())
        if len(found) == most:
            break
        # Runs of capitals are labels of speakers, and headings.
        fresh = len(set(stems)) == len(stems) and not used.intersection(stems)
        if fresh and not (" " in form and form.isupper()):
            used.update(stems)
            found.append(Phrase(form, stems, number))
    return found


def shared_phrases(sentences: Sequence[str]) -> list[str]:
    """Return the phrases of two small words that several sentences hold, those of the most first.

    Several are three, or two of at most twelve.
    """
    forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        pairs = {
            (stem(one), stem(other)): f"{one} {other}"
            for one, other in pairwise(_WORDS.findall(sentence))
            if _small(one) and _small(other) and not _ENDS.search(other)
        }
        for key, form in pairs.items():
            forms[key][form] += 1
    often = {key: own.total() for key, own in forms.items()}
    least = 2 if len(sentences) <= _FEW else 3
    shared = sorted((key for key in often if often[key] >= least), key=lambda key: (-often[key], key))
    return [min(forms[key], key=lambda form: (-forms[key][form], form)) for key in shared]


def _small(word: str) -> bool:
    return word.isalpha() and word.islower() and len(word) > 2 and word not in _NO_PHRASE


def _most_common_form() -> pl.Expr:
    return pl.col("form").sort().mode().sort().first().alias("form")


def _words(frame: pl.DataFrame) -> pl.DataFrame:
    """All words and marks in their order; ``key`` is the stem of a word that carries meaning, else null."""
    words = (
        frame.with_row_index("text_number")
        .with_columns(word=pl.col("text").str.extract_all(_RUN))
        .select("document", "text_number", "word")
        .explode("word")
        .drop_nulls("word")
    )
    every = words.select("word").unique()
    lower = every["word"].str.to_lowercase().to_list()
    keys = [
        stem(word) if len(word) > 2 and word[0].isalpha() and not _NO_PHRASE & {word, _bare(word)} else None
        for word in lower
    ]
    known = every.with_columns(pl.Series("key", keys, dtype=pl.Utf8)).with_columns(
        key=pl.when(~pl.col("word").str.contains(_NEVER)).then("key")
    )
    return words.join(known, on="word", how="left", maintain_order="left")


def _bare(word: str) -> str:
    return word.replace("’", "'").split("'")[0]


def _runs(words: pl.DataFrame, length: int) -> pl.DataFrame:
    """Every run of so many meaningful words inside a text."""
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
