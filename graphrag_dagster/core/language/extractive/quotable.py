"""How well a sentence reads when it stands alone."""

import re

_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
_BULLET = re.compile(r"^\s*(?:[-*•–—#>|]|\d+[.)]\s)")
_DANGLING_WORDS = (
    "he she it they this that these those his her its their such here there then but and or so yet "
    "however moreover also both neither nor him them i we you my our your "
)
_DANGLING = frozenset(_DANGLING_WORDS.split())
_SHORT, _LONG = 8, 45


def readability(sentence: str) -> float:
    """From 0 (a fragment: never quote it) to 1 (a whole sentence that names its subject)."""
    text = sentence.strip()
    tokens = text.split()
    if len(tokens) < 4 or not _END.search(text) or _BULLET.match(text):
        return 0.0
    first = text.lstrip("\"'“‘«([")[:1]
    if not (first.isupper() or first.isdigit()) or text.isupper():
        return 0.0
    score = 1.0
    if tokens[0].strip("\"'“‘«([,").lower() in _DANGLING:
        score *= 0.4
    if text.rstrip("\"'”’»)").endswith("?"):
        score *= 0.3
    if len(tokens) < _SHORT:
        score *= 0.6
    if len(tokens) > _LONG:
        score *= max(0.2, _LONG / len(tokens) - 0.2)
    if text.count("“") != text.count("”") or text.count('"') % 2:
        score *= 0.6
    return score
