"""Normalised entity names: what makes two mentions the same entity."""

import html
import unicodedata
from functools import lru_cache

_QUOTES = "\"'“”‘’«»`„‚"
_SPACES = str.maketrans("\t\n\r", "   ")


def clean(text: str) -> str:
    """Unescape HTML, drop control characters and surrounding quotes, fold white space (spec_graphrag §3)."""
    shown = html.unescape(text)
    if not shown.isprintable():
        shown = "".join(filter(str.isprintable, shown.translate(_SPACES)))
    return _bare(shown)


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES).strip()


# Each name is asked for several times, where it is read and where its relationships are.
@lru_cache(maxsize=32_768)
def normalise(name: str) -> str:
    """Return the name under which instances are merged: cleaned, NFKC, upper case.

    >>> normalise('  "Harbour&amp;Sons Ltd" ')
    'HARBOUR&SONS LTD'
    """
    # Some characters become blanks and others: a normalised name stays what it is.
    return _bare(unicodedata.normalize("NFKC", clean(name))).upper()
