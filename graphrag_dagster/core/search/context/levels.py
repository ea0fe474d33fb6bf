"""Community levels as people write them."""

import re

from graphrag_dagster.errors import QuestionError

_LEVEL = re.compile(r"[cC]?(\d{1,3})")


def level_of(text: str) -> int:
    """Return k of ``Ck``.

    Raises:
        QuestionError: the text names no level.
    """
    if found := _LEVEL.fullmatch(text.strip()):
        return int(found[1])
    raise QuestionError(f"{text!r} is no community level; give C0, C1, C2, C3 …")
