"""Words of a question that no text of the index has: misspelt ones, and names and numbers it cannot be about.

English questions only: what is a name is told by capitals.
"""

import calendar
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.search_words import WordForms, words, words_with_case
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words
from graphrag_dagster.kernel.text.english_words import (
    DIVISIONS,
    DOCUMENTS,
    FORMS_OF_ADDRESS,
    LEGAL_FORMS,
    OFFICES,
)
from graphrag_dagster.kernel.text.languages import ENGLISH, language_of
from graphrag_dagster.kernel.text.periods import MONTHS
from graphrag_dagster.kernel.text.text_similarity import stem
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

#: Letters from which a word may be misspelt, and from which by two letters.
_SHORTEST, _LONG = 4, 8
#: Rarity of a word that a tokenizer does not know: no common English word, so perhaps a misspelt one.
_UNCOMMON = 8.0
#: Digits from which a number is like a name: a year, a type.
_DIGITS = 3
#: Likeness of spelling of 100 from which a word is offered, most that are, and the letters in common by which
#: a word is a form of another: Italy, Italian.
_OFFERED, _MOST_OFFERED, _IN_COMMON = 75, 3, 4
#: Letters of capitals that may be the initials of words that a text spells out.
_INITIALS = 5
#: Words with a capital that may stand beside a name, and for what texts write otherwise.
_BESIDE_NAMES = frozenset(
    {*OFFICES, *DIVISIONS, *DOCUMENTS, *FORMS_OF_ADDRESS, *LEGAL_FORMS, *MONTHS}.union(
        map(str.lower, calendar.day_name)
    )
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a question is read.

    Attributes:
        text: with the corrected words.
        corrected: misspelt words, each with the only nearest word of the texts.
        missing: names and numbers that no text has, so that nothing can answer.
        offered: words of the texts that are near to one that no text has.
    """

    text: str
    corrected: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What was corrected, in words; blank if nothing was."""
        return ", ".join(f"no text has “{word}”, so it was read as “{near}”" for word, near in self.corrected)

    @property
    def offer(self) -> str:
        """The question that offers near words; blank without any."""
        return f"Did you mean {' or '.join(f'“{word}”' for word in self.offered)}?" if self.offered else ""


def reading_of(search: Search) -> Reading:
    """Return how a question is read: with misspelt words corrected, and what of it no text has.

    A misspelt word is one that neither English nor the texts have, and differs from a word of the texts by
    one letter, from eight letters on by two. It is corrected if it is near to one word only. A name or a
    number of three digits is missing if no text has it or a form of it, unless the question asks about
    something beside it, too, or by it names documents or a course of time.

    Args:
        search: the question, over what is searched.
    """
    question = search.question.text
    if language_of(question) not in {None, ENGLISH} or search.index.text_chunks.is_empty():
        return Reading(question)
    forms, known = words_with_case(question), _Vocabulary(search.retriever.rarity)
    asked = set(asked_words(question))
    unknown = [
        place
        for place, (word, written) in enumerate(zip(forms.folded, forms.written, strict=True))
        if written.lower() in asked and not known.has(word) and not search.retriever.has_word(written)
    ]
    exempt = frozenset(_scope_words(search)) if unknown else frozenset()
    corrected: dict[int, str] = {}
    missing, offered = [], []
    for place in unknown:
        word, written = forms.folded[place], forms.written[place]
        if word in exempt:
            continue
        near = known.near(word, in_name=_is_in_known_name(forms, place, known))
        if len(near) == 1:
            corrected[place] = near[0]
        elif near:
            offered += near
        elif (
            _is_like_name(forms, place)
            and not is_one_of_several(written, question)
            and not known.has_form(word)
        ):
            missing.append(written)
            offered += known.offers(word) if word.isalpha() else ()
    if missing and search.course:
        missing = [word for word in missing if not word.isdigit()]
    told = tuple((forms.written[place], near) for place, near in corrected.items())
    return Reading(
        _with(forms, corrected), told, tuple(missing), tuple(dict.fromkeys(offered))[:_MOST_OFFERED]
    )


def is_one_of_several(word: str, question: str) -> bool:
    """Return whether a question asks about something beside a word, too: "marmalade and the dockers"."""
    both = rf"\b{re.escape(word)}\b,? (?:and|or)\b|\b(?:and|or) (?:\w+ )?{re.escape(word)}\b"
    return re.search(both, question, re.IGNORECASE) is not None


def _with(forms: WordForms, corrected: dict[int, str]) -> str:
    text, end = "", 0
    for place, near in corrected.items():
        start, behind = forms.spans[place]
        text, end = text + forms.whole[end:start] + near, behind
    return text + forms.whole[end:]


def _scope_words(search: Search) -> Iterator[str]:
    """The words by which a question names documents; all numbers where it names a period that there is."""
    for clue in search.favour.clues:
        yield from words(clue.words)
        if clue.span:
            yield from words(search.favour.question[slice(*clue.span)])


def _is_like_name(forms: WordForms, place: int) -> bool:
    """Whether a word is a number of some digits, or a name by its capital inside a sentence."""
    written = forms.written[place]
    if written.isdigit():
        return len(written) >= _DIGITS
    others = [one for number, one in enumerate(forms.written) if number and not forms.capital(number)]
    return (
        written.isalpha()
        and written[:1].isupper()
        and not forms.begins[place]
        and bool(others)
        and not (written.isupper() and len(written) <= _INITIALS)
        and written.lower() not in _BESIDE_NAMES
    )


def _is_in_known_name(forms: WordForms, place: int, known: "_Vocabulary") -> bool:
    """Whether a word and one beside it look like a name of which the texts have the other word."""
    return forms.capital(place) and any(
        forms.capital(beside) and not forms.begins[beside] and known.has(forms.folded[beside])
        for beside in (place - 1, place + 1)
        if 0 <= beside < len(forms.folded)
    )


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The folded words of all texts."""

    rarity: WordRarity

    def has(self, word: str) -> bool:
        """Whether a text has a word; of a number also with separators: 3,400."""
        groups = (
            re.findall(r"\d{1,3}(?=(?:\d{3})*\Z)", word) if word.isdigit() and len(word) > _DIGITS else []
        )
        return self.rarity.has_word(word) or (len(groups) > 1 and all(map(self.rarity.has_word, groups)))

    def near(self, word: str, *, in_name: bool) -> list[str]:
        """The words that a misspelt one may stand for, one for each stem; none where it is spelt well."""
        if not word.isalpha() or len(word) < _SHORTEST:
            return []
        if not in_name and get_tokenizer("cl100k_base").rarity(word) < _UNCOMMON:
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        most = 2 if len(word) >= _LONG and not in_name else 1
        found = process.extract(word, self._words, scorer=OSA.distance, score_cutoff=most, limit=None)
        best = min((distance for _, distance, _ in found), default=0)
        nearest = [one for one, distance, _ in found if distance == best and one.isalpha()]
        by_stem: dict[str, str] = {}
        for one in sorted(nearest, key=lambda one: (self.rarity.of(one), one)):
            by_stem.setdefault(stem(one), one)
        return [self._as_written(one) for one in list(by_stem.values())[:_MOST_OFFERED]]

    def has_form(self, word: str) -> bool:
        """Whether a text has a word that may be another form of a name."""
        least = max(_IN_COMMON, len(word) - _IN_COMMON + 1)
        return word.isalpha() and any(one.startswith(word[:least]) for one in self._words)

    def offers(self, word: str) -> Sequence[str]:
        """The words of the texts whose spelling is like that of a name, the likest first."""
        from rapidfuzz import fuzz, process

        found = process.extract(
            word, self._words, scorer=fuzz.ratio, score_cutoff=_OFFERED, limit=_MOST_OFFERED
        )
        return [self._as_written(one) for one, _, _ in found if not self.rarity.is_plain(one)]

    def _as_written(self, word: str) -> str:
        return word if self.rarity.is_plain(word) else word.capitalize()

    @property
    def _words(self) -> Collection[str]:
        return list(self.rarity.table)
