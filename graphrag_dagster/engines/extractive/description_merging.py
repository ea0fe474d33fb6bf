"""Descriptions merged without a model: sentences chosen by maximal marginal relevance."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from graphrag_dagster.engines.extractive.names.name_wordlists import OFFICES
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.tasks.task_ports import DescriptionGroup, Engine, MergedDescription
from graphrag_dagster.kernel.text.english_words import word_set

_BOUNDARY = re.compile(r"\b")
_AFTER = re.compile(
    r"(?:\s\([^)]*\))?(?:\s(?:is|was|are|were)\s(?:an?|the|one|our)\b|,\s(?:an?|the|our|who\sis)\s"
    r"|\s(?:means?|stands\sfor)\b)",
    re.IGNORECASE,
)
_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(OFFICES))})\s", re.IGNORECASE)
_DIRECTLY_BEFORE = re.compile(rf"{_BEFORE.pattern}\Z", re.IGNORECASE)


def defines(name: str, text: str) -> bool:
    """Return whether a text says what a name is; letters may be large or small.

    One expression of all this would have to be made anew for each name, which takes far longer than to search
    with it: only the name itself is made, and only where a sentence has the words that go with one.
    """
    after, before = _AFTER.search(text), _BEFORE.search(text)
    if not (after or before):
        return False
    words = r"\s+".join(map(re.escape, name.split()))
    # Looked ahead, so that one occurrence may begin inside another.
    written = re.compile(rf"(?=({words}))", re.IGNORECASE)
    return any(
        (after and _BOUNDARY.match(text, start) and _AFTER.match(text, end))
        or (before and _BOUNDARY.match(text, end) and _DIRECTLY_BEFORE.search(text, 0, start))
        for start, end in (found.span(1) for found in written.finditer(text))
    )


_RELEVANCE = 0.7
_SAME = 0.85
_QUESTION, _DEFINES = 0.5, 2.0
_MOST_CANDIDATES = 256
_TOKEN = re.compile(r"[^\W_]+")
_WHOLE = re.compile(r"[\W_]*(?:[^\W\d_a-zß-öø-ÿ]|\d).*[.!?…。！？][\"'”’)\]»*_]*\Z", re.DOTALL)
_STOP_WORDS = word_set(
    """
    a about after all also an and any are as at be because been before but by can could did do does
    for from had has have he her him his how i if in into is it its may more most no not of on one
    or other our out said she so some such than that the their them then there these they this to up
    us was we were what when which who will with would you your
    """
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A candidate: its place in the group, its text, length in words and distinct content words.

    ``defining``: it says what the one named thing is.
    """

    place: int
    text: str
    words: int
    terms: frozenset[str]
    defining: bool = False


class ExtractiveDescriptionMerger:
    """Chooses whole sentences that say much of the same thing and little of it twice (Carbonell 1998).

    Args:
        max_words: longest merged description; a single sentence may be longer where none is shorter.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, max_words: int = 100) -> None:
        self._max_words = max_words

    def merge(self, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
        """Return one description per group: sentences of the group, unchanged, in the order of the group.

        Sentences that say what an entity is count double and come first. One distinct description stays word
        for word. Sentences that are part of another, or say the same in
        nearly the same words, are left out, and scraps where there are whole sentences. Of more than 256
        distinct sentences 256 evenly spaced ones are considered.
        """
        return [
            MergedDescription(self._merge_group(group), self.engine)
            for group in track(groups, "Merging descriptions", len(groups))
        ]

    def _merge_group(self, group: DescriptionGroup) -> str:
        distinct = list(dict.fromkeys(text for text in group.descriptions if text.strip()))
        if len(distinct) < 2:
            return distinct[0] if distinct else ""
        chosen = _choose(_candidates(distinct, group.names), self._max_words)
        in_order = sorted(chosen, key=lambda sentence: (not sentence.defining, sentence.place))
        return "".join(
            text + ("" if number == len(in_order) else " " if _WHOLE.match(text) else "; ")
            for number, text in enumerate((sentence.text for sentence in in_order), start=1)
        )


def _candidates(texts: Sequence[str], names: Sequence[str]) -> list[_Sentence]:
    """Return the sentences to choose from: whole ones where there are any, none part of another."""
    own = {token for name in names for token in _TOKEN.findall(name.casefold())}
    keyed: dict[str, tuple[int, str]] = {}
    for place, text in enumerate(texts):
        key, tidy = " ".join(_TOKEN.findall(text.casefold())), " ".join(text.split())
        if key not in keyed or (_WHOLE.match(tidy) and not _WHOLE.match(keyed[key][1])):
            keyed[key] = (place, tidy)
    keys = [key for key in keyed if key] or list(keyed)
    if len(keys) > _MOST_CANDIDATES:
        keys = [keys[number * len(keys) // _MOST_CANDIDATES] for number in range(_MOST_CANDIDATES)]
    kept = _drop_contained(keys)
    whole = [key for key in kept if _WHOLE.match(keyed[key][1])]
    (only,) = names if len(names) == 1 else ("",)
    found = []
    for key in whole or kept:
        tokens = key.split()
        terms = frozenset(tokens) - _STOP_WORDS - own
        place, text = keyed[key]
        says = bool(only) and defines(only, text)
        found.append(_Sentence(place, text, len(text.split()), terms or frozenset(tokens), says))
    return found


def _drop_contained(keys: Sequence[str]) -> list[str]:
    """Leave out what stands inside another; a unit may cut a sentence inside a word, at either end."""
    kept: set[str] = set()
    longer = "\n"
    for key in sorted(keys, key=lambda key: (-len(key), key)):
        if f"{key} " in longer or f" {key}" in longer:
            continue
        kept.add(key)
        longer += f" {key} \n"
    return [key for key in keys if key in kept]


def _likeness(first: frozenset[str], second: frozenset[str]) -> float:
    both = len(first & second)
    return both / sqrt(len(first) * len(second)) if both else 0.0


def _relevances(sentences: Sequence[_Sentence]) -> list[float]:
    """Return the cosine of each sentence with the sum of all; questions count half."""
    frequency = Counter(term for sentence in sentences for term in sentence.terms)
    norm = sqrt(sum(count * count for count in frequency.values())) or 1.0
    return [
        sum(frequency[term] for term in sentence.terms)
        / (norm * sqrt(len(sentence.terms) or 1))
        * (_QUESTION if sentence.text.endswith("?") else 1.0)
        * (_DEFINES if sentence.defining else 1.0)
        for sentence in sentences
    ]


def _choose(sentences: Sequence[_Sentence], max_words: int) -> list[_Sentence]:
    relevance = _relevances(sentences)
    fitting = [place for place, sentence in enumerate(sentences) if sentence.words <= max_words]
    if not fitting:
        return [sentences[max(range(len(sentences)), key=lambda place: (relevance[place], -place))]]
    nearest = dict.fromkeys(fitting, 0.0)
    chosen: list[_Sentence] = []
    room = max_words
    while nearest:
        best = max(
            nearest,
            key=lambda place: (_RELEVANCE * relevance[place] - (1 - _RELEVANCE) * nearest[place], -place),
        )
        chosen.append(sentences[best])
        room -= sentences[best].words
        del nearest[best]
        for place in list(nearest):
            like = _likeness(sentences[place].terms, sentences[best].terms)
            if like >= _SAME or sentences[place].words > room:
                del nearest[place]
            else:
                nearest[place] = max(nearest[place], like)
    return chosen
