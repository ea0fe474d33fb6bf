"""Replies to all the prompts of the package, made by patterns: names are capitalised words.

Nothing here speaks of quality; the replies have the right shape, name what stands in the prompt, and cite ids
that stand there.
"""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from support.conversations import CHECKS, CONTINUATIONS, Asked, asked_of, section
from support.probes import probe_reply
from support.scripted_coterag import coterag_reply
from support.scripted_decomposing import decomposing_reply
from support.scripted_judges import judging_reply
from support.scripted_names import ruling_reply
from support.scripted_quality import quality_reply
from support.scripted_questioning import questioning_reply
from support.scripted_references import reference_reply
from support.scripted_themes import themes_reply
from support.scripted_typing import typing_reply

_WORD = r"[A-Z][\w'’&-]+"
_NAME = re.compile(rf"{_WORD}(?:[ ]{{1,2}}(?:of[ ]|the[ ])?{_WORD})*")
_SMALL = re.compile(
    r"(?:A|An|And|As|At|But|By|For|From|He|Her|His|I|If|In|It|Its|No|Not|Of|On|Or|She|So|That|The|Their|Then|There"
    r"|These|They|This|To|Was|We|What|When|Where|Which|Who|With|You|After|Before|Each|Every|Some|Many)\Z"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]?")
_CITATION = re.compile(r"\[Data: [^\]]*\]")
_ROW = re.compile(r"^[\"']?(\d+)[\"']?\s*[,|:\t]", re.MULTILINE)
_PLACES = ("Harbour", "Island", "Bay", "Street", "Town", "City", "Sound", "Point", "Isle", "Firth")


@dataclass(frozen=True)
class Scripted:
    """A reply with its finish reason; tokens None are counted roughly, as a quarter of the characters.

    ``reasoning`` is sent beside the reply and counts as output; ``cached_input_tokens`` are reported as those
    of the prompt that the provider had in its cache.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning: str | None = None
    cached_input_tokens: int = 0


@dataclass(frozen=True)
class Style:
    """How a script writes: most characters of a description, fewest words of a name, whether it gleans.

    A gleaning script names at first only what the first half of a text names, and the rest when it is told
    to continue.
    """

    shown: int | None = None
    words: int = 1
    gleans: bool = False


def name_pattern_script(body: dict[str, Any]) -> Scripted | str:
    """Answer any prompt of the package in the form that it asks for."""
    return reply_in_style(body, Style())


def reply_in_style(body: dict[str, Any], style: Style) -> Scripted | str:
    """Answer any prompt of the package, its probes included."""
    if (reply := _judged(body)) is not None:
        return reply
    asked = asked_of(body)
    if asked.task in CHECKS:
        missing = style.gleans and not asked.continued
        return Scripted("YES" if missing else "NO", "length" if body.get("max_tokens") == 1 else "stop")
    if asked.task.startswith("extract_") or asked.task in CONTINUATIONS:
        return _extraction(asked, style)
    if '"ratings"' in asked.system:
        ids = _ROW.findall(section(asked.data, "reports") or "")
        return json.dumps({"ratings": [{"id": int(one), "rating": 3} for one in ids]})
    material = section(asked.data, "material")
    if '"follow_ups"' in asked.system or material is not None:
        return _explored(material or section(asked.data, "reports") or "", '"follow_ups"' in asked.system)
    if (descriptions := section(asked.data, "descriptions")) is not None:
        joined = " ".join(line.removeprefix("- ") for line in descriptions.splitlines())
        return json.dumps({"description": joined[:1500]})
    if (community := section(asked.data, "community")) is not None:
        return _report(community)
    label = "Sources" if section(asked.data, "sources") is not None else "Reports"
    if (rows := section(asked.data, label.lower())) is not None:
        return _partial(section(asked.data, "question") or "", rows, label, asked.system)
    if (partials := section(asked.data, "partial_answers")) is not None:
        cited = " ".join(dict.fromkeys(_CITATION.findall(partials)))
        return f"## Answer\n\nThe reports speak of {', '.join(found_names(partials)[:8])}. {cited}".strip()
    return probe_reply(body) or "There is nothing to say."


def _judged(body: dict[str, Any]) -> str | None:
    made = (
        reply(body)
        for reply in (
            ruling_reply,
            typing_reply,
            themes_reply,
            quality_reply,
            decomposing_reply,
            questioning_reply,
            judging_reply,
            reference_reply,
            coterag_reply,
        )
    )
    return next((reply for reply in made if reply is not None), None)


def _extraction(asked: Asked, style: Style) -> str:
    tuples = "<|>" in asked.system
    text = section(asked.data, "source_text") or ""
    later = asked.task in CONTINUATIONS
    names = section(asked.data, "entity_names")
    if names is None:
        return _graph(text, tuples, style, later)
    listed = names.splitlines()
    half = (len(listed) + 1) // 2 if style.gleans else len(listed)
    return _claims(listed[half:] if later else listed[:half], text, tuples)


def _explored(rows: str, asks_on: bool) -> str:
    """Name what the rows name and cite two of them: in free text, or with follow-up questions."""
    label = "Sources" if "-----Sources" in rows else "Reports"
    ids = _ROW.findall(rows.rpartition(f"-----{label}")[2])[:2]
    mark = f" [Data: {label} ({', '.join(ids)})]" if ids else ""
    names = found_names(rows)[:3]
    answer = f"It speaks of {', '.join(names)}{mark}."
    follow_ups = [f"What of {name}?" for name in names]
    return json.dumps({"answer": answer, "score": 50, "follow_ups": follow_ups}) if asks_on else answer


def found_names(text: str) -> list[str]:
    """The capitalised names of a text, each once, without small words at the beginning of a sentence."""
    return list(
        dict.fromkeys(name for sentence in _SENTENCE.findall(text) for name in _in_sentence(sentence))
    )


def _in_sentence(sentence: str) -> list[str]:
    names = []
    for match in _NAME.finditer(sentence):
        words = match[0].split()
        while words and _SMALL.match(words[0]):
            words.pop(0)
        if words:
            names.append(" ".join(words))
    return list(dict.fromkeys(names))


def _kind(name: str) -> str:
    if name.split()[-1] in _PLACES:
        return "GEO"
    return "PERSON" if len(name.split()) == 2 else "ORGANIZATION"


def _graph(text: str, tuples: bool, style: Style | None = None, later: bool = False) -> str:
    chosen = style or Style()
    sentences = _SENTENCE.findall(text)
    half = (len(sentences) + 1) // 2 if chosen.gleans else len(sentences)
    entities, relations = _things(sentences[:half], chosen)
    if later:
        names, pairs = {one[0] for one in entities}, {one[:2] for one in relations}
        entities, relations = _things(sentences[half:], chosen)
        entities = [one for one in entities if one[0] not in names]
        relations = [one for one in relations if one[:2] not in pairs]
    if not tuples:
        return json.dumps(
            {
                "entities": [dict(zip(("name", "type", "description"), e, strict=True)) for e in entities],
                "relationships": [
                    dict(zip(("source", "target", "description", "strength"), r, strict=True))
                    for r in relations
                ],
            }
        )
    return _tuples([("entity", *e) for e in entities] + [("relationship", *r) for r in relations])


def _things(raw: list[str], style: Style) -> tuple[list[tuple[str, str, str]], list[tuple[Any, ...]]]:
    """The entities and relationships of sentences, each described by the first sentence that names it."""
    sentences = [" ".join(sentence.split()) for sentence in raw]
    named = [(s, [n for n in _in_sentence(s) if len(n.split()) >= style.words]) for s in sentences]
    first_in = {name: s for s, names in reversed(named) for name in names}
    order = dict.fromkeys(name for _, names in named for name in names)
    entities = [(name, _kind(name), first_in[name][: style.shown]) for name in order]
    pairs = {pair: s for s, names in reversed(named) for pair in pairwise(names)}
    relations = [
        (a, b, pairs[a, b][: style.shown], 1 + len(pairs[a, b]) % 10) for a, b in sorted(pairs) if a != b
    ]
    return entities, relations


def _tuples(records: list[tuple[Any, ...]]) -> str:
    lines = [f'("{record[0]}"<|>' + "<|>".join(map(str, record[1:])) + ")" for record in records]
    return "\n##\n".join(lines) + "\n<|COMPLETE|>"


def _claims(names: list[str], text: str, tuples: bool) -> str:
    claims = []
    for name in names:
        sentence = next((s.strip() for s in _SENTENCE.findall(text) if name.lower() in s.lower()), None)
        if sentence:
            year = re.search(r"\b(?:19|20)\d\d\b", sentence)
            date = year[0] if year else None
            claims.append((name, None, "STATEMENT", "TRUE", date, date, sentence, sentence))
    if tuples:
        return _tuples([("claim", *(part or "NONE" for part in claim)) for claim in claims])
    keys = ("subject", "object", "type", "status", "start_date", "end_date", "description")
    return json.dumps({"claims": [dict(zip(keys, c, strict=False)) | {"quotes": [c[-1]]} for c in claims]})


def _report(context: str) -> str:
    tables = re.split(r"^-----(\w+)-----$", context, flags=re.MULTILINE)[1:]
    ids = {label: _ROW.findall(rows)[:5] for label, rows in zip(tables[::2], tables[1::2], strict=True)}
    rows = {label: rows.splitlines()[2:] for label, rows in zip(tables[::2], tables[1::2], strict=True)}
    mark = "; ".join(f"{label} ({', '.join(found)})" for label, found in ids.items() if found)
    titles = [line.split(",")[1].strip('"') for line in rows.get("Entities", []) if "," in line][:3]
    titles = titles or found_names(context)[:3] or ["A community"]
    findings = [
        {
            "summary": f"{title} belongs here.",
            "explanation": f"{title} is part of this community [Data: {mark}]." if mark else f"{title}.",
        }
        for title in titles
    ]
    return json.dumps(
        {
            "title": " and ".join(titles),
            "summary": f"This community is about {', '.join(titles)}.",
            "rating": min(len(context) // 400, 10),
            "rating_explanation": "The rating follows the length of the tables.",
            "findings": findings,
        }
    )


def _partial(question: str, rows: str, label: str, system: str) -> str:
    ids = _ROW.findall(rows)[:3]
    asked = {word.lower() for word in re.findall(r"\w{4,}", question)}
    known = {word.lower() for word in re.findall(r"\w{4,}", rows)}
    score = round(100 * len(asked & known) / max(len(asked), 1)) or 10
    mark = f" [Data: {label} ({', '.join(ids)})]" if ids else ""
    answer = f"These {label.lower()} speak of {', '.join(found_names(rows)[:5])}{mark}."
    if '"points"' in system:
        return json.dumps({"points": [{"description": answer, "score": score}]})
    if "ANSWERHELPFULNESS" in system:
        return f"<ANSWERHELPFULNESS>{score}</ANSWERHELPFULNESS>\n{answer}"
    return json.dumps({"answer": answer, "score": score})
