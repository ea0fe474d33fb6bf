"""Rows of WebQSP, CWQ, GrailQA and WebQuestions as they are released, and of those with a subgraph each.

Answers and entities are taken by their names, and by their ids where they have none.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster.errors import GraphragError

Told = Mapping[str, Any]
#: Entities and relations of Freebase in a query, without what only types or names things.
_ENTITY = re.compile(r"\bns:([mg]\.[0-9a-z_]+)")
_RELATION = re.compile(r"\bns:([a-z_]+(?:\.[a-z_0-9]+){2,})")
_NO_FACTS = ("type.", "common.", "freebase.")
#: An answer of WebQuestions; a quote inside of one has a backslash before it.
_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^\s()]+))\)')


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """A question of a benchmark.

    Attributes:
        question: as it is asked.
        entities: that it begins from.
        answers: that are right.
        hops: edges to them, where the form tells.
        relations: of Freebase that lead there, where the form tells.
    """

    question: str
    entities: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    hops: int | None = None
    relations: tuple[str, ...] = ()

    @property
    def domain(self) -> str | None:
        """Domain of Freebase that most relations are of, of equally many the first; None: unknown."""
        told = [one.partition(".")[0] for one in self.relations if one.count(".") > 1]
        return max(dict.fromkeys(told), key=told.count, default=None)


def benchmark_row(told: Told) -> BenchmarkRow | None:
    """Return a row by whichever form its keys show; None where they show none.

    >>> benchmark_row({"question": "who?", "q_entity": ["A"], "a_entity": ["B"], "graph": []}).answers
    ('B',)
    """
    for keys, read in _FORMS:
        if keys <= told.keys():
            return read(told)
    return None


def rows_held(value: object) -> list[Any]:
    """Return the rows of a file that is one piece of JSON: a list, or the ``Questions`` of WebQSP."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("Questions", "data", "rows") if name in value), [value])
    return value if isinstance(value, list) else []


def triples_of(told: Told) -> Iterator[tuple[str, str, str]]:
    """Yield the triples of the subgraph that a row comes with: head, relation, tail; others are left out."""
    graph = told.get("graph")
    for one in graph if isinstance(graph, Sequence) else ():
        parts = list(one) if not isinstance(one, str) else []
        if len(parts) == 3 and all(isinstance(part, str) and part.strip() for part in parts):
            yield parts[0], parts[1], parts[2]


def _with_subgraph(told: Told) -> BenchmarkRow:
    """Question, ``q_entity``, ``a_entity`` or ``answer``, and ``graph``: triples."""
    answers = _texts(told.get("answer") or told.get("a_entity"))
    ends = {*answers, *_texts(told.get("a_entity"))}
    near = tuple(relation for _, relation, tail in triples_of(told) if tail in ends)
    return BenchmarkRow(str(told["question"]), _texts(told.get("q_entity")), answers, relations=near)


def _webqsp(told: Told) -> BenchmarkRow:
    parses = [one for one in told["Parses"] if isinstance(one, Mapping)]
    answers = [answer for one in parses for answer in one.get("Answers") or ()]
    chains = [_texts(one.get("InferentialChain")) for one in parses]
    chain = next(filter(None, chains), ())
    return BenchmarkRow(
        str(told.get("RawQuestion") or told.get("ProcessedQuestion") or ""),
        _named(parses, ("TopicEntityName", "TopicEntityMid")),
        _named(answers, ("EntityName", "AnswerArgument")),
        len(chain) or None,
        chain,
    )


def _cwq(told: Told) -> BenchmarkRow:
    query = str(told["sparql"])
    relations = tuple(one for one in _RELATION.findall(query) if not one.startswith(_NO_FACTS))
    answers = told.get("answers") or told.get("answer")
    named = [one if isinstance(one, Mapping) else {"answer": one} for one in answers or ()]
    return BenchmarkRow(
        str(told.get("question", "")),
        tuple(dict.fromkeys(_ENTITY.findall(query))),
        _named(named, ("answer", "answer_id")),
        relations=relations,
    )


def _grailqa(told: Told) -> BenchmarkRow:
    graph = told["graph_query"]
    nodes = [one for one in graph.get("nodes") or () if isinstance(one, Mapping)]
    edges = [one for one in graph.get("edges") or () if isinstance(one, Mapping)]
    entities = [one for one in nodes if one.get("node_type") == "entity"]
    answers = [one for one in told.get("answer") or () if isinstance(one, Mapping)]
    return BenchmarkRow(
        str(told.get("question", "")),
        _named(entities, ("friendly_name", "id")),
        _named(answers, ("entity_name", "answer_argument")),
        len(edges) or None,
        _named(edges, ("relation",)),
    )


def _webquestions(told: Told) -> BenchmarkRow:
    """``utterance``, ``targetValue`` and ``url``, which ends in the name of what the question begins from."""
    target = str(told["targetValue"])
    answers = tuple((quoted or bare).replace('\\"', '"') for quoted, bare in _DESCRIPTION.findall(target))
    name = str(told.get("url", "")).rstrip("/").rpartition("/")[2].replace("_", " ")
    return BenchmarkRow(str(told["utterance"]), (name,) if name else (), answers)


_FORMS: tuple[tuple[frozenset[str], Callable[[Told], BenchmarkRow]], ...] = (
    (frozenset({"Parses"}), _webqsp),
    (frozenset({"graph_query"}), _grailqa),
    (frozenset({"utterance", "targetValue"}), _webquestions),
    (frozenset({"question", "q_entity"}), _with_subgraph),
    (frozenset({"question", "sparql"}), _cwq),
)


def _named(rows: Sequence[Told], keys: Sequence[str]) -> tuple[str, ...]:
    """The first of some keys that each row has something under, each text once."""
    told = (next((str(row[key]) for key in keys if row.get(key)), "") for row in rows)
    return tuple(dict.fromkeys(one for one in told if one.strip()))


def _texts(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, Sequence) else []
    return tuple(dict.fromkeys(str(one) for one in listed if one is not None and str(one).strip()))


def write_triples(files: Iterable[Path], target: Path) -> tuple[int, int]:
    """Write the triples of all rows' subgraphs, each once, as JSON lines with head, relation and tail.

    Args:
        files: json, jsonl or parquet; see :func:`triples_of`.
        target: a file that is not there yet.

    Returns:
        triples written, and rows that have some.

    Raises:
        GraphragError: a file cannot be read, none has a triple, or ``target`` exists.
    """
    if target.exists():
        raise GraphragError(f"{target} exists; name another file, or delete it")
    seen: dict[tuple[str, str, str], None] = {}
    rows = 0
    for file in files:
        for told in _rows_of(file):
            before = dict.fromkeys(triples_of(told))
            seen |= before
            rows += bool(before)
    if not seen:
        raise GraphragError(
            "no row has a subgraph; give files whose rows have a key graph, a list of [head, relation, tail]"
        )
    with target.open("x", encoding="utf-8", newline="") as stream:
        for head, relation, tail in seen:
            one = {"head": head, "relation": relation, "tail": tail}
            stream.write(json.dumps(one, ensure_ascii=False) + "\n")
    return len(seen), rows


def _rows_of(file: Path) -> Iterator[Told]:
    try:
        match file.suffix.lower():
            case ".parquet":
                yield from pl.read_parquet(file, columns=["graph"]).iter_rows(named=True)
            case ".json":
                held = rows_held(json.loads(file.read_text(encoding="utf-8")))
                yield from (one for one in held if isinstance(one, dict))
            case ".jsonl":
                with file.open(encoding="utf-8") as stream:
                    found = (json.loads(line) for line in stream if line.strip())
                    yield from (one for one in found if isinstance(one, dict))
            case _:
                raise GraphragError(f"{file} is of no form with subgraphs; give json, jsonl or parquet")
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise GraphragError(f"{file} cannot be read: {error}") from None
