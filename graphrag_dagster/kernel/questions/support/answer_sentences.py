"""The sentences of an answer, as claims are looked for in them."""

import re
from dataclasses import dataclass

from graphrag_dagster.kernel.questions.citations import rewrite_citations
from graphrag_dagster.kernel.text.sentences import sentence_spans

_NUMBERED = re.compile(
    r"[ \t]*(?:\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}|,\s?\+more){0,40}\](?:\([^()\s]{1,2000}\))?"
    r"|【\d{1,4}[^【】\n]{0,80}】|\[LLM:\s?verify\])"
)
_LINK = re.compile(r'!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}(?:\s"[^"\n]{0,200}")?\)')
_MARK = re.compile(r"(?:(?:[-+*•‣◦▪●–—>]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+)+")
_HASHES = re.compile(r"#{1,6}(?:\s+|\Z)")
# A line all in bold letters heads what follows, whether a blank line stands between them or not.
_BOLD_LINE = re.compile(
    r"^[ \t]*(?:[-+*•>]\s+|\d{1,3}[.)]\s+){0,3}(?P<bold>\*\*|__)(?P<words>[^*_\n]{1,200}?)(?P=bold):?[ \t]*$",
    re.MULTILINE,
)
_UNDERLINED = re.compile(r"[ \t]*\n[ \t]*(?:={3,}|-{3,})[ \t]*(?:\n|\Z)")
_EMPHASIS = re.compile(r"(?<!\s)\*+|\*+(?!\s)|__+|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)|`+|~~")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer on one line, without citations, list marks and Markdown."""

    text: str
    heading: bool = False


def answer_sentences(text: str) -> tuple[AnswerSentence, ...]:
    """Return the sentences and headings of an answer in order, list items and table rows as sentences.

    Citations (``[1]``, ``[2, 3]``, ``[Data: Reports (1, 2)]`` and their variants) are taken out before the
    text is split. What holds neither letter nor digit, such as a rule, is no sentence.

    >>> [one.text for one in answer_sentences("# Ships [1]\\n- *Vega* sank [Data: Reports (2)].")]
    ['Ships', 'Vega sank.']
    """
    plain = _BOLD_LINE.sub(r"\n\g<0>\n", without_citations(text))
    found = []
    for span in sentence_spans(plain):
        raw = plain[span.start : span.end]
        words = _words(raw)
        if any(map(str.isalnum, words)):
            below = _UNDERLINED.match(plain, span.end)
            underlined = below is not None and "\n" not in raw and not _ENDED.search(words)
            found.append(AnswerSentence(words, underlined or _is_heading(raw)))
    return tuple(found)


def without_citations(text: str) -> str:
    """Return a text without its citations and the blanks before them; links keep their words."""
    return _LINK.sub(r"\1", _NUMBERED.sub("", rewrite_citations(text, {})))


def _is_heading(raw: str) -> bool:
    if _HASHES.match(raw):
        return True
    bold = _BOLD_LINE.fullmatch(raw)
    return bold is not None and not _ENDED.search(bold["words"].strip())


def _words(raw: str) -> str:
    bare = _HASHES.sub("", raw, count=1) if _HASHES.match(raw) else raw
    mark = _MARK.match(bare)
    bare = bare[mark.end() :] if mark else bare
    if bare.startswith("|"):
        bare = "; ".join(cell.strip() for cell in bare.strip("| \t").split("|"))
    return " ".join(_EMPHASIS.sub("", bare).split())
