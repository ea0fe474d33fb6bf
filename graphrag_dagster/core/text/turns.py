"""Who says a sentence: speaker labels of transcripts, minutes and plays."""

import re

from graphrag_dagster.core.text.english_words import STOP_WORDS
from graphrag_dagster.core.text.marks import time_before

_NAME = r"(?:[A-Z][\w.'’-]*|\([^()]{1,40}\)|\[[^\[\]]{1,40}\]|of|de|van|von)"
_LABEL = re.compile(rf"(?P<speaker>[A-Z][\w.'’-]*(?: {_NAME}){{0,6}}): +(?=\S)")
#: Labels of chats: <anna>, anna:, @anna:, Анна:, and any name before a time, as in "~ anna (19:05):"
_CHAT = re.compile(
    r"(?:<@?(?P<framed>[\w.' -]{1,40})>:?|@?(?P<plain>[^\W\d_A-Z][\w.'’-]{1,30}):"
    r"|(?P<timed>\S[^\n:()]{0,80}) \(\d\d:\d\d\):) +(?=\S)"
)
_REMARK = re.compile(r"\s*[(\[].*?[)\]]")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*$")
_NO_SPEAKER = re.compile(
    r"(?:Note|Source|Figure|Table|Date|Time|Place|Present|Re|Subject|Question|Answer|Q|A|Example|Warning|Tip|Hint"
    r"|Important|Caution|Todo|Result|Summary|Usage|Default|Optional|Required|Returns?|Type|Name|Title|Author|Status"
    r"|Minutes|Agenda|Motion|Action|Decision|Link|Url|Tags?|Version|Options?|Examples)\Z",
    re.IGNORECASE,
)


def speaker_before(sentence: str) -> tuple[str, int]:
    """Return the speaker whom a label before a sentence names, blank without one, and where it is said.

    A time stamp may stand before the label; names in small letters are labels where they are one word.

    >>> speaker_before("ANNA RUIZ (VOICEOVER): The quay was built in 1908.")
    ('ANNA RUIZ', 23)
    """
    start = time_before(sentence)
    found = _LABEL.match(sentence, start)
    if found:
        speaker = _REMARK.sub("", found["speaker"]).strip()
        return ("", found.end()) if _NO_SPEAKER.match(speaker) else (speaker, found.end())
    chat = _CHAT.match(sentence, start)
    if not chat:
        return "", 0
    speaker = chat["framed"] or chat["plain"] or chat["timed"]
    known = chat["plain"] is not None and (speaker.lower() in STOP_WORDS or _NO_SPEAKER.match(speaker))
    return ("", 0) if known else (speaker, chat.end())


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    return _ASKS.search(sentence) is not None
