"""Replies to the three prompts that take answers apart into claims, made by patterns."""

import json
import re
from typing import Any

from graphrag_dagster.kernel.text import prompts
from support.conversations import Asked, asked_of, section

_DROPPED = re.compile(
    r"\?$|\b(?:should|must not forget|not mentioned|no information)\b|^(?:In conclusion|Overall|In summary)\b"
)
_LESSON = re.compile(r",? (?:which is|a) (?:remarkable|important|lesson|triumph)\b[^.]*")
_PRONOUN = re.compile(r"(?:He|She|It|They|This)\b")
_NAME = re.compile(r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_NO_NAME = frozenset({"The", "A", "An", "He", "She", "It", "They", "This", "Who", "What", "When", "In"})
_VERB = r"(?:was|were|is|are|has|had|did|cost|took|made|led|sank|[a-z]{2,}ed)"
_CUT = re.compile(rf"; |,? and (?={_VERB}\b)")
_SUBJECT = re.compile(rf"(?P<subject>.*?\S) {_VERB}\b")


def decomposing_reply(body: dict[str, Any]) -> str | None:
    """Answer selection, disambiguation or decomposition of one sentence; None to any other prompt."""
    asked = asked_of(body)
    for name, reply in _REPLIES.items():
        if asked.system.startswith(prompts.load(name).text):
            return json.dumps(reply(asked, section(asked.data, "element") or ""))
    return None


def _select(_: Asked, sentence: str) -> dict[str, Any]:
    if _DROPPED.search(sentence):
        return {"reason": "It states nothing.", "verdict": "drop", "sentence": ""}
    bare = _LESSON.sub("", sentence)
    if bare != sentence:
        return {"reason": "The lesson is an opinion.", "verdict": "rewrite", "sentence": bare}
    return {"reason": "It can be checked.", "verdict": "keep", "sentence": ""}


def _disambiguate(asked: Asked, sentence: str) -> dict[str, Any]:
    pronoun = _PRONOUN.match(sentence)
    if not pronoun:
        return {"reason": "It names its subject.", "verdict": "clear", "sentence": ""}
    before = (section(asked.data, "material") or "").splitlines()[:-1]
    known = [*_NAME.findall("\n".join(before)), *_NAME.findall(section(asked.data, "question") or "")]
    names = [name for name in known if name not in _NO_NAME]
    if not names:
        return {"reason": f"{pronoun[0]} may be anyone.", "verdict": "ambiguous", "sentence": ""}
    resolved = names[0] + sentence[pronoun.end() :]
    return {"reason": f"{pronoun[0]} is {names[0]}.", "verdict": "resolved", "sentence": resolved}


def _decompose(_: Asked, sentence: str) -> dict[str, Any]:
    first, *others = _CUT.split(sentence.rstrip("."))
    subject = _SUBJECT.match(first)
    said = f"{subject['subject']} " if subject else ""
    again = [part if part[:1].isupper() else said + part for part in others]
    return {"claims": [f"{part}." for part in (first, *again)]}


_REPLIES = {
    "claims_select_system": _select,
    "claims_disambiguate_system": _disambiguate,
    "claims_decompose_system": _decompose,
}
