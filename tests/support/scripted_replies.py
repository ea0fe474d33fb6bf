"""Replies to all the prompts of the package, made by patterns: names are capitalised words.

The tasks are told apart by the delimiters of the data in their prompts. Nothing here speaks of quality; the
replies have the right shape, name what stands in the prompt, and cite ids that stand there.
"""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphrag_dagster import prompts

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
    """A reply with its finish reason; tokens None are counted roughly."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None


def name_pattern_script(body: dict[str, Any]) -> Scripted | str:
    """Answer any prompt of the package in the form that it asks for."""
    messages = body["messages"]
    last, system = messages[-1]["content"], messages[0]["content"]
    first = messages[1]["content"] if len(messages) > 1 else last
    if last in {prompts.load("glean_check").text, prompts.load("claims_check").text}:
        return Scripted("NO", "length" if body.get("max_tokens") == 1 else "stop")
    tuples = "<|>" in system
    gleaned = last in {prompts.load("glean_continue").text, prompts.load("claims_continue").text}
    if (names := section(first, "entity_names")) is not None:
        return _claims([] if gleaned else names.splitlines(), section(first, "source_text") or "", tuples)
    if (text := section(first, "source_text")) is not None:
        return _graph("" if gleaned else text, tuples)
    if (descriptions := section(first, "descriptions")) is not None:
        joined = " ".join(line.removeprefix("- ") for line in descriptions.splitlines())
        return json.dumps({"description": joined[:1500]})
    if (community := section(first, "community")) is not None:
        return _report(community)
    if (reports := section(first, "reports")) is not None:
        return _partial(section(first, "question") or "", reports, system)
    if (partials := section(first, "partial_answers")) is not None:
        cited = " ".join(dict.fromkeys(_CITATION.findall(partials)))
        return f"## Answer\n\nThe reports speak of {', '.join(found_names(partials)[:8])}. {cited}".strip()
    return "There is nothing to say."


def section(text: str, tag: str) -> str | None:
    """What stands between the delimiters of a tag, None where there are none."""
    found = re.search(rf"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else None


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


def _graph(text: str, tuples: bool) -> str:
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE.findall(text)]
    first_in = {name: s for s in reversed(sentences) for name in _in_sentence(s)}
    entities = [(name, _kind(name), first_in[name]) for name in found_names(text)]
    pairs = {pair: s for s in reversed(sentences) for pair in pairwise(_in_sentence(s))}
    relations = [(a, b, pairs[a, b], 1 + len(pairs[a, b]) % 10) for a, b in sorted(pairs) if a != b]
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


def _partial(question: str, reports: str, system: str) -> str:
    ids = _ROW.findall(reports)[:3]
    asked = {word.lower() for word in re.findall(r"\w{4,}", question)}
    known = {word.lower() for word in re.findall(r"\w{4,}", reports)}
    score = round(100 * len(asked & known) / max(len(asked), 1)) or 10
    mark = f" [Data: Reports ({', '.join(ids)})]" if ids else ""
    answer = f"These reports speak of {', '.join(found_names(reports)[:5])}{mark}."
    if '"points"' in system:
        return json.dumps({"points": [{"description": answer, "score": score}]})
    if "ANSWERHELPFULNESS" in system:
        return f"<ANSWERHELPFULNESS>{score}</ANSWERHELPFULNESS>\n{answer}"
    return json.dumps({"answer": answer, "score": score})
