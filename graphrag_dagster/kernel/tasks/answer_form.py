"""What is wished of the form of an answer, and whether a model may add what it knows of the world."""

import re
from dataclasses import dataclass

from graphrag_dagster.errors import QuestionError

#: Longest response type in characters.
LONGEST_RESPONSE_TYPE = 200
#: What a model puts after a sentence that rests on its own knowledge, as Microsoft's prompts have it.
KNOWLEDGE_MARK = "[LLM: verify]"

_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
} | {"a": 1, "single": 1}
_RANGE = r"(?:(?:at most|up to|about)\s+)?(?:(?P<low>\w+)\s*(?:[-–]|\bto\b)\s*)?(?P<most>\w+)"
_SENTENCES = re.compile(rf"(?:an?\s+)?{_RANGE}\s+sentences?\.?", re.IGNORECASE)
_POINTS = re.compile(rf"(?:an?\s+)?(?:bulleted\s+)?list of {_RANGE}\s+(?:points?|items?)\.?", re.IGNORECASE)
_USUAL = re.compile(r"multiple paragraphs\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How an answer is to look (paper, Appendix E.3, E.4).

    ``response_type``: length and layout in words, such as ``multiple paragraphs``, ``single sentence`` or
    ``list of 3-7 points``; None leaves both to the prompts. ``general_knowledge``: a model may add knowledge
    of the world, each sentence of it marked ``[LLM: verify]``.
    """

    response_type: str | None = None
    general_knowledge: bool = False

    @classmethod
    def checked(cls, response_type: str | None, general_knowledge: bool) -> "AnswerForm":
        """Return the form with the response type on one line, None where it is blank.

        Raises:
            QuestionError: the response type is longer than :data:`LONGEST_RESPONSE_TYPE`.
        """
        given = response_type or ""
        if len(given) > LONGEST_RESPONSE_TYPE:
            raise QuestionError(
                f"the response type has {len(given)} characters; at most {LONGEST_RESPONSE_TYPE} are allowed"
            )
        tidy = " ".join("".join(c if c.isprintable() else " " for c in given).split())
        return cls(tidy or None, general_knowledge)


def most_sentences(response_type: str, usual: int) -> int | None:
    """Return how many sentences a response type allows at most, None where it says no such thing.

    Args:
        response_type: such as ``single sentence``, ``2-3 sentences``, ``list of 3-7 points``; ``multiple
            paragraphs`` is the usual number.
        usual: the number of sentences where nothing else is said, and the most that can be asked for.
    """
    if _USUAL.fullmatch(response_type):
        return usual
    found = _SENTENCES.fullmatch(response_type) or _POINTS.fullmatch(response_type)
    most = _number(found["most"]) if found else None
    return most if most is not None and 1 <= most <= usual else None


def _number(word: str) -> int | None:
    known = _NUMBERS.get(word.lower())
    return known or (int(word) if re.fullmatch(r"[0-9]{1,3}", word) else None)
