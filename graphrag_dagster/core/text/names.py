"""Normalised entity names: what makes two mentions the same entity."""

import html
import re
import unicodedata

_QUOTES = "\"'“”‘’«»`„‚"
_SPACES = str.maketrans("\t\n\r", "   ")
_BLANKS = re.compile(r"\s+")


def clean(text: str) -> str:
    """Unescape HTML, drop control characters and surrounding quotes, fold white space (spec_graphrag §3)."""
    printable = html.unescape(text).translate(_SPACES)
    if not printable.isprintable():
        printable = "".join(filter(str.isprintable, printable))
    return _bare(printable)


def _bare(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().strip(_QUOTES).strip()


def normalise(name: str) -> str:
    """Return the name under which instances are merged: cleaned, NFKC, upper case.

    >>> normalise('  "Harbour&amp;Sons Ltd" ')
    'HARBOUR&SONS LTD'
    """
    # Some characters become blanks and others: a normalised name stays what it is.
    return _bare(unicodedata.normalize("NFKC", clean(name))).upper()
