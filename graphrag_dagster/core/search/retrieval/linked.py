"""What a question names: each name as it stands there, and what it was taken for."""

from dataclasses import dataclass
from typing import Literal

How = Literal["exact", "alias", "near spelling", "part", "not linked"]

#: How sure a link must be for the question to be said to name what it links.
SURE = 0.5


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A name in a question, and the entity or document that it was taken for.

    ``text`` stands in the question. ``how``: it is the name's spelling; another that means the same (without
    its qualifier, title or legal form, by its initials); a near spelling; a part of the name; or it looks
    like a name and is ``not linked``: then there is no ``title``, and ``reason`` says why. ``entity_id`` is
    None where only a document's title is called so. ``sure``: 0–1, how likely the question means it;
    ``named`` where that is at least 0.5. ``weight``: 0–1, how strongly the question spreads from it, little
    for a name that stands nearly everywhere. ``start``: its word in the question, 0….
    """

    text: str
    title: str | None
    entity_id: str | None
    how: How
    sure: float
    weight: float
    reason: str = ""
    start: int = 0

    @property
    def named(self) -> bool:
        """Whether the question is taken to mean it."""
        return self.sure >= SURE
