"""The requested form of an answer, and whether a model may add general knowledge."""

import re
from dataclasses import dataclass

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.text.english_words import SMALL_NUMBERS

#: Longest response type in characters.
LONGEST_RESPONSE_TYPE = 200
#: The mark of a sentence from the model's general knowledge, as in Microsoft's prompts.
KNOWLEDGE_MARK = "[LLM: verify]"

_NUMBERS = {**SMALL_NUMBERS, "a": 1, "single": 1}
_RANGE = r"(?:(?:at most|up to|about)\s+)?(?:(?P<low>\w+)\s*(?:[-–]|\bto\b)\s*)?(?P<most>\w+)"
_SENTENCES = re.compile(rf"(?:an?\s+)?{_RANGE}\s+sentences?\.?", re.IGNORECASE)
_POINTS = re.compile(rf"(?:an?\s+)?(?:bulleted\s+)?list of {_RANGE}\s+(?:points?|items?)\.?", re.IGNORECASE)
_USUAL = re.compile(r"multiple paragraphs\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of an answer (paper, Appendix E.3, E.4).

    ``response_type``: length and layout in words, such as ``multiple paragraphs``, ``single sentence`` or
    ``list of 3-7 points``; None leaves both to the prompts. ``general_knowledge``: a model may add general
    knowledge, each such sentence marked ``[LLM: verify]``.
    """

    response_type: str | None = None
    general_knowledge: bool = False

    @classmethod
    def checked(cls, response_type: str | None, general_knowledge: bool) -> "AnswerForm":
        """Return the form with the response type on one line, or None if it is blank.

        Raises:
            QuestionError: the response type is longer than :data:`LONGEST_RESPONSE_TYPE`.
        """
        text = response_type or ""
        if len(text) > LONGEST_RESPONSE_TYPE:
            raise QuestionError(
                f"the response type has {len(text)} characters; at most {LONGEST_RESPONSE_TYPE} are allowed"
            )
        cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return cls(cleaned or None, general_knowledge)


def most_sentences(response_type: str, usual: int) -> int | None:
    """Return the most sentences that a response type allows; None if it states no number.

    Args:
        response_type: such as ``single sentence``, ``2-3 sentences``, ``list of 3-7 points``; ``multiple
            paragraphs`` means ``usual``.
        usual: the default and the upper limit.
    """
    if _USUAL.fullmatch(response_type):
        return usual
    match = _SENTENCES.fullmatch(response_type) or _POINTS.fullmatch(response_type)
    most = _number(match["most"]) if match else None
    return most if most is not None and 1 <= most <= usual else None


def _number(word: str) -> int | None:
    number = _NUMBERS.get(word.lower())
    return number or (int(word) if re.fullmatch(r"[0-9]{1,3}", word) else None)
