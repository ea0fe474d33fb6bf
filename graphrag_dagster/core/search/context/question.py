"""What may be asked."""

import re
from collections.abc import Iterable

from graphrag_dagster.errors import QuestionError

#: Said where nothing was found; what was searched is told behind it. ``Answer.refused`` is what to test for.
REFUSAL = "No answer was found."
LONGEST_QUESTION = 4000

_HALVES = re.compile("[\ud800-\udfff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def checked(question: str) -> str:
    """Return the question without surrounding blanks.

    Raises:
        QuestionError: it holds no letter or digit, or a character no text has, or more than 4,000 characters.
    """
    asked = question.strip()
    if not any(character.isalnum() for character in asked):
        raise QuestionError("the question is empty; ask in words")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"the question has {len(asked):,} characters; at most {LONGEST_QUESTION:,} can be answered"
        )
    if _NO_TEXT.search(asked):
        raise QuestionError("the question holds control characters, as binary files do; ask in words")
    return asked


def checked_turns(texts: Iterable[str]) -> None:
    """Check earlier questions and answers of a conversation.

    Raises:
        QuestionError: one holds half of a surrogate pair, which nothing can store or send.
    """
    if any(map(_HALVES.search, texts)):
        raise QuestionError(
            "the conversation so far holds half of a surrogate pair, which is not a character; take it out"
        )
