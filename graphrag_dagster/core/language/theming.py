"""The port of reading a judge's reasons: which themes they have in common (paper §5.1).

Only a model can do this: there is no extractive counterpart, since counting words of a reason would say what
answers are about and not what the judge goes by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from graphrag_dagster.core.language.judging import Criterion
from graphrag_dagster.core.language.tasks import Items, OfEngine


@dataclass(frozen=True, slots=True)
class Theme:
    """Something that a judge goes by: a few words, and a sentence on when a reason speaks of it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons by one criterion that are read in one call, with the themes there are, if any."""

    criterion: Criterion
    texts: tuple[str, ...]
    themes: tuple[Theme, ...] = ()


@dataclass(frozen=True, slots=True)
class ThemeLists:
    """Themes that were found in several parts of the reasons by one criterion."""

    criterion: Criterion
    themes: tuple[Theme, ...]


#: Themes, no two with the same name.
Themes: TypeAlias = Items[Theme]
#: Of each reason the places of its themes, 0…, rising.
Labels: TypeAlias = Items[tuple[int, ...]]


class ReasonReader(OfEngine, Protocol):
    """Reads the reasons of a judge; each method answers in the order of what it is given."""

    def name_themes(self, parts: Sequence[Reasons]) -> list[Themes]:
        """Name the themes of each part."""

    def merge_themes(self, found: Sequence[ThemeLists]) -> list[Themes]:
        """Make one list of themes that say the same in several words."""

    def label_reasons(self, parts: Sequence[Reasons]) -> list[Labels]:
        """Say of each reason which of its part's themes it speaks of."""
