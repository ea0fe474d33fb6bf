"""Sentences that say what a named thing is: "X is a …", "X, the …,", "the chief engineer X"."""

import re
from functools import cached_property

from graphrag_dagster.core.language.extractive.names.wordlists import OFFICES

_BOUNDARY = re.compile(r"\b")
_AFTER = re.compile(
    r"(?:\s\([^)]*\))?(?:\s(?:is|was|are|were)\s(?:an?|the|one|our)\b|,\s(?:an?|the|our|who\sis)\s"
    r"|\s(?:means?|stands\sfor)\b)",
    re.IGNORECASE,
)
_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(OFFICES))})\s", re.IGNORECASE)
_DIRECTLY_BEFORE = re.compile(rf"{_BEFORE.pattern}\Z", re.IGNORECASE)


class Defining:
    """What says of one name what it is; letters may be large or small.

    One expression of all this would have to be made anew for each name, which takes far longer than to search
    with it: only the name itself is made, and only where a sentence has the words that go with one.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def says(self, text: str) -> bool:
        """Return whether the text says what the name is."""
        after, before = _AFTER.search(text), _BEFORE.search(text)
        if not (after or before):
            return False
        return any(
            (after and _BOUNDARY.match(text, start) and _AFTER.match(text, end))
            or (before and _BOUNDARY.match(text, end) and _DIRECTLY_BEFORE.search(text, 0, start))
            for start, end in (found.span(1) for found in self._form.finditer(text))
        )

    @cached_property
    def _form(self) -> re.Pattern[str]:
        words = r"\s+".join(map(re.escape, self._name.split()))
        # Looked ahead, so that one occurrence may begin inside another.
        return re.compile(rf"(?=({words}))", re.IGNORECASE)
