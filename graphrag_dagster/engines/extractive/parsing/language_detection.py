"""Which language a text unit is in, and whether an engine reads it."""

import os
import re
from collections.abc import Collection
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.text.english_words import word_set
from graphrag_dagster.kernel.text.languages import ENGLISH

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: Links, paths, addresses and names in code.
_NO_WORDS = re.compile(r"\S*[/\\@_=<>{}]\S*")
#: Words that stand in every English text and hardly in any other.
_ONLY_ENGLISH = word_set(
    """
    about and because been being could from have his into it's should that the their them there these they
    this those was were what when which who will with would you your
    """
)
_ENGLISH_SHARE = 0.08
#: Of fewer bytes, or where the likeliest languages have less of the probability, the language is not known.
_FEWEST_BYTES, _SURE, _LIKELIEST = 40, 0.9, 3
#: Least probability at which a text may be in a language after all.
_POSSIBLE = 0.02
_NO_LANGUAGE = "zxx"
_INSIDE_NAME = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: What the detector tells apart and a reader does not, or what spaCy calls otherwise.
_CALLED = {"no": "nb", "nn": "nb", "yue": "zh", "wuu": "zh", "ary": "ar", "arz": "ar", "pcm": "en"}
_MOST_CHARACTERS = 4_000
_loading = Lock()
#: Names that spaCy does not have.
_NAMES = {
    "as": "Assamese", "be": "Belarusian", "br": "Breton", "bs": "Bosnian", "cy": "Welsh",
    "dz": "Dzongkha", "eo": "Esperanto", "fy": "Frisian", "gd": "Scottish Gaelic", "gl": "Galician",
    "ha": "Hausa", "ig": "Igbo", "jv": "Javanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "ku": "Kurdish", "mg": "Malagasy", "mn": "Mongolian", "mt": "Maltese", "my": "Burmese",
    "nb": "Norwegian", "oc": "Occitan", "om": "Oromo", "or": "Odia", "pa": "Punjabi", "ps": "Pashto",
    "so": "Somali", "sw": "Swahili", "tg": "Tajik", "tk": "Turkmen", "ug": "Uyghur", "uz": "Uzbek",
    "xh": "Xhosa", "zu": "Zulu",
}  # fmt: skip


def unreadable_reason(text: str, languages: Collection[str], engine: str = "extractive") -> str | None:
    """Return why a text unit is not read: it is surely in none of these languages; None where it is read.

    Tables, code, lists of names and texts of a few words have no language that could be told, and are read.
    So is a text of several languages one of which is read.

    Args:
        text: of the unit.
        languages: ISO 639 codes of those that are read; of none: every text is read.
        engine: that reads them.
    """
    other = other_language(text, languages)
    read = " and ".join(map(name_of, languages))
    return f"written in {name_of(other)}; the {engine} engine reads {read}" if other else None


def other_language(text: str, languages: Collection[str]) -> str | None:
    """Return the ISO 639 code of the language of a text that is surely in none of these, else None.

    Args:
        text: of a unit.
        languages: ISO 639 codes; of none: None is returned.
    """
    if not languages or (ENGLISH in languages and _is_plainly_english(text)):
        return None
    found = likely_languages(text)
    if not found or any(_CALLED.get(one, one) in languages or one in languages for one in found):
        return None
    return found[0]


def likely_languages(text: str) -> tuple[str, ...]:
    """Return ISO 639 codes, the likeliest first; none where the language cannot be told.

    Only words in small letters count, each once: a name says nothing about the language of the text that it
    stands in, nor does a link, and the words of a table are few.
    """
    words = _WORD.findall(_NO_WORDS.sub(" ", text[:_MOST_CHARACTERS]))
    small = " ".join(dict.fromkeys(word for word in words if word == word.lower()))
    if len(small.encode("utf-8", "replace")) < _FEWEST_BYTES:
        return ()
    ranked = _identifier().rank(small)
    if ranked[0][0] == _NO_LANGUAGE or sum(share for _, share in ranked[:_LIKELIEST]) < _SURE:
        return ()
    return tuple(one for one, share in ranked if share >= _POSSIBLE)


def name_of(language: str) -> str:
    """Return the English name of a language, its code where that is not known.

    >>> name_of("de")
    'German'
    """
    from spacy.util import get_lang_class

    called = _CALLED.get(language, language)
    if called in _NAMES:
        return _NAMES[called]
    try:
        return _INSIDE_NAME.sub(" ", get_lang_class(called).__name__)
    except ImportError:
        return f"the language {language!r}"


def _is_plainly_english(text: str) -> bool:
    """Whether so many of the words are English ones that no detector needs to be asked."""
    words = _WORD.findall(text.lower())
    return sum(word in _ONLY_ENGLISH for word in words) > _ENGLISH_SHARE * len(words)


def _identifier() -> "LanguageIdentifier":
    """The detector, with its model of 4 MB; loaded where a text is not plainly English."""
    with _loading:
        return _load_identifier()


def _reset_after_fork() -> None:
    """A forked process has no thread that would ever let go of the lock."""
    global _loading
    _loading = Lock()


os.register_at_fork(after_in_child=_reset_after_fork)


@cache
def _load_identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
