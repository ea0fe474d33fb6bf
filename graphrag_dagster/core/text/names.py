"""Normalised entity names: what makes two mentions the same entity."""

import html
import re
import unicodedata

_QUOTES = "\"'“”‘’«»`„‚"
_BLANKS = re.compile(r"\s+")
_BREAKS = str.maketrans("\t\n\r", "   ")


def clean(text: str) -> str:
    """Unescape HTML, drop control characters and surrounding quotes, fold white space (spec_graphrag §3)."""
    unescaped = html.unescape(text)
    one_line = unescaped.translate(_BREAKS)
    # Most names are: told at once for all their characters.
    if not one_line.isprintable():
        one_line = "".join(filter(str.isprintable, one_line))
    return _bare(one_line)


def _bare(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().strip(_QUOTES).strip()


def normalise(name: str) -> str:
    """Return the name under which instances are merged: cleaned, NFKC, upper case.

    >>> normalise('  "Harbour&amp;Sons Ltd" ')
    'HARBOUR&SONS LTD'
    """
    # Some characters become blanks and others: a normalised name stays what it is.
    return _bare(unicodedata.normalize("NFKC", clean(name))).upper()
