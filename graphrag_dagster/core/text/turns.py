"""Who says a sentence: speaker labels of transcripts, minutes and plays."""

import re

_NAME = r"(?:[A-Z][\w.'’-]*|\([^()]{1,40}\)|\[[^\[\]]{1,40}\]|of|de|van|von)"
_LABEL = re.compile(rf"(?P<speaker>[A-Z][\w.'’-]*(?: {_NAME}){{0,6}}): +(?=\S)")
_REMARK = re.compile(r"\s*[(\[].*?[)\]]")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*$")
_NO_SPEAKER = re.compile(
    r"(?:Note|Source|Figure|Table|Date|Time|Place|Present|Re|Subject|Question|Answer|Q|A)\Z"
)


def speaker_before(sentence: str) -> tuple[str, int]:
    """Return the speaker whom a label before a sentence names, blank without one, and where it is said.

    >>> speaker_before("ANNA RUIZ (VOICEOVER): The quay was built in 1908.")
    ('ANNA RUIZ', 23)
    """
    found = _LABEL.match(sentence)
    if not found:
        return "", 0
    speaker = _REMARK.sub("", found["speaker"]).strip()
    return ("", found.end()) if _NO_SPEAKER.match(speaker) else (speaker, found.end())


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    return _ASKS.search(sentence) is not None
