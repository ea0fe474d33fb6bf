"""Hostile answers of a model endpoint, over real HTTP: odd envelopes, streams, vectors, and replies inside them."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from fuzz.harness import Subject

DEEP = "@deep@"
ODD: list[Any] = [
    None, True, -1, 0, 1e308, 10**30, float("nan"), float("inf"), "", "x", "12", "-7", "\x00", "\ud800", [], {},
    [None], [[]], [{}], {"a": {"b": []}}, {"text": 7}, [{"type": "text", "text": ["x"]}], "y" * 200_000, DEEP,
    "9" * 5_000, ["stop"], {"role": "assistant"},
]  # fmt: skip
REPORT = {
    "title": "The quay",
    "summary": "It was built [Data: Entities (1)].",
    "rating": 5,
    "rating_explanation": "It matters.",
    "findings": [{"summary": "Built", "explanation": "In 1998 [Data: Entities (1)]."}] * 3,
}
RECORDS = {
    "entities": [{"name": "Ann Lee", "type": "person", "description": "Runs it."}],
    "relationships": [{"source": "Ann Lee", "target": "Bo Ray", "description": "Met.", "strength": 3}],
}
TUPLES = '("entity"<|>Ann Lee<|>PERSON<|>Runs it.)\n##\n("relationship"<|>Ann Lee<|>Bo Ray<|>Met.<|>3)\n<|COMPLETE|>'
REPLIES: dict[str, Any] = {
    "report": REPORT,
    "json": RECORDS,
    "tuples": TUPLES,
    "rate": {"ratings": [{"id": 1, "rating": 3}, {"id": 2, "rating": 0}]},
    "judge": {"reason": "It is longer.", "winner": 1},
    "map": {"answer": "Built [Data: Reports (1)].", "score": 70},
    "tagged": "<ANSWER HELPFULNESS> 70 </ANSWER HELPFULNESS>\nBuilt [Data: Reports (1)].",
    "statements": {"statements": ["It was built.", "It stands."]},
    "describe": {"description": "Texts about a harbour."},
    "explore": {"answer": "Built.", "score": 40, "follow_ups": ["Who?", "When?"]},
}


@dataclass(frozen=True)
class Case:
    """What is asked for, and the answer: status, headers, and a body, repeated so often."""

    task: str
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1


def cases(random: Random, count: int) -> Iterator[tuple[str, Case]]:
    makers: list[Callable[[Random], tuple[str, Case]]] = [_envelope, _stream, _vectors, _reply, _body]
    for number in range(count):
        kind, case = makers[number % len(makers)](random)
        yield f"{number}: {kind}", case


def _completion(text: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _good(task: str) -> str:
    reply = REPLIES[task]
    return reply if isinstance(reply, str) else json.dumps(reply)


def _envelope(random: Random) -> tuple[str, Case]:
    task = random.choice(list(REPLIES))
    answer, place = _spoilt(random, _completion(_good(task)))
    return f"envelope at {place}", Case(task, _dumped(answer, random))


def _stream(random: Random) -> tuple[str, Case]:
    text = _good("tagged")
    deltas: list[dict[str, Any]] = [{"role": "assistant"}, {"content": text[:9]}, {"content": text[9:]}]
    events: list[Any] = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    events += [
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 1}},
    ]
    lines = []
    for event in events:
        spoilt, _ = _spoilt(random, event) if random.random() < 0.4 else (event, "")
        lines.append(b"data: " + _dumped(spoilt, random))
    odd = [
        b": ping",
        b"data:",
        b"data: [1]",
        b"data: {",
        b"event: x",
        b"\xff\xfe",
        b"data: " + b"[" * 90_000,
        b"x" * 300_000,
    ]
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines)), random.choice(odd))
    lines += random.choice([[], [b"data: [DONE]"], [b"data: [DONE]", b"data: {}"]])
    end = random.choice([b"\n\n", b"\n", b"\r\n\r\n", b"\r"])
    kind = random.choice(["text/event-stream", "application/json", "text/plain"])
    return "stream", Case("stream", end.join(lines) + end, headers={"Content-Type": kind})


def _vectors(random: Random) -> tuple[str, Case]:
    data = [{"index": place, "embedding": [0.1, 0.2, -0.3]} for place in range(2)]
    answer, place = _spoilt(random, {"object": "list", "data": data, "usage": {"prompt_tokens": 2}})
    if isinstance(answer, dict) and random.random() < 0.3:
        answer["data"] = random.choice([data[:1], data[::-1], data * 2, [data[0], data[0]]])
    return f"vectors at {place}", Case("embed", _dumped(answer, random))


def _reply(random: Random) -> tuple[str, Case]:
    task = random.choice(list(REPLIES))
    text = _good(task)
    kind = random.choice(["cut", "value", "storm", "deep", "endless", "dressed"])
    if kind == "cut":
        text = text[: random.randrange(len(text))]
    elif kind == "value" and not isinstance(REPLIES[task], str):
        text = _dumped(_spoilt(random, json.loads(text))[0], random).decode()
    elif kind == "storm":
        mark = random.choice(
            ['"', "'", "[", "{", "<", "a_", "```\n", " ", "\\", "<|>", "(", "##", '("entity"<|>', "<think>"]
        )
        place = random.randrange(len(text))
        text = (
            random.choice([text[:place], "<", '{"a": "'])
            + mark * random.choice([10, 3_000, 40_000])
            + text[place:]
        )
    elif kind == "deep":
        depth = random.choice([70, 1_500, 20_000])
        text = '{"a":' * depth + "1" + "}" * random.choice([depth, depth - 1, 0])
    elif kind == "endless":
        text = text.replace("uilt", "z" * random.choice([30_000, 2_000_000, 10_000_000])).replace(
            "Runs", "z" * 30_000
        )
    else:
        text = (
            random.choice(["<think>{\n", "```json\n", "Here: ", "<|channel|>final<|message|>", "[{},"]) + text
        )
        text += random.choice(["}", "\n```", " // end", "<|im_end|>", "]", ""])
    return f"reply {kind}", Case(task, json.dumps(_completion(text)).encode())


def _body(random: Random) -> tuple[str, Case]:
    good = json.dumps(_completion(_good("json"))).encode()
    bodies: dict[str, tuple[bytes, int, dict[str, str]]] = {
        "empty": (b"", 1, {}),
        "no object": (random.choice([b"[]", b"null", b"7", b'"x"', b"NaN", b"[{}]"]), 1, {}),
        "cut": (good[: random.randrange(len(good))], 1, {}),
        "bytes": (random.randbytes(random.randrange(1, 3_000)), 1, {}),
        "deep": (random.choice([b"[", b'{"a":', b'{"choices":[']) * 100_000, 1, {}),
        "gzip": (gzip.compress(good)[: random.randrange(20, 200)], 1, {"Content-Encoding": "gzip"}),
        "bomb": (gzip.compress(b" " * 10_000_000), 8, {"Content-Encoding": "gzip"}),
        "endless": (b" " * 1_000_000, random.choice([1, 40]), {}),
        "html": (b"<html>busy</html>", 1, {"Content-Type": "text/html"}),
        "error": (_dumped({"error": random.choice(ODD)}, random), 1, {}),
    }
    kind = random.choice(list(bodies))
    body, times, headers = bodies[kind]
    status = random.choice([200, 200, 200, 201, 400, 418, 500])
    asked = {"retry-after": random.choice(["NaN", "-1", "1e400", "", "many", "0"])}
    return f"body {kind} {status}", Case(
        random.choice(["json", "stream", "embed"]), body, status, headers | asked, times
    )


def _spoilt(random: Random, value: Any) -> tuple[Any, str]:
    """A JSON value with something odd at one of its places, and that place."""
    places = list(_places(value, ()))
    place = random.choice(places)
    if not place:
        return random.choice(ODD), "top"
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    if random.random() < 0.15:
        del inner[place[-1]]
    else:
        inner[place[-1]] = random.choice(ODD)
    return copy, ".".join(map(str, place))


def _places(value: Any, here: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield here
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from _places(value[key], (*here, key))


def _dumped(value: Any, random: Random) -> bytes:
    depth = random.choice([100, 3_000, 100_000])
    return json.dumps(value).replace(json.dumps(DEEP), "[" * depth + "]" * depth).encode()


class _Handler(BaseHTTPRequestHandler):
    case = Case("", b"")

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        case = type(self).case
        try:
            self.send_response(case.status)
            for name, value in ({"Content-Type": "application/json"} | case.headers).items():
                self.send_header(name, value)
            self.end_headers()
            for _ in range(case.times):
                self.wfile.write(case.body)
        except OSError:
            self.close_connection = True


@cache
def _url() -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def attack(case: Case, _: Path) -> str:
    """Ask for what the case answers, as the tasks do; an endpoint's or a reply's fault is told as such."""
    from graphrag_dagster.errors import EndpointError, EngineError
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
    from graphrag_dagster.kernel.settings.model_settings import ModelSettings

    _Handler.case = case
    settings = ModelSettings(base_url=_url(), name="m", retries=0, timeout_seconds=8.0)
    try:
        problem = _asked(case.task, OpenAIChatModel(settings, first_wait=0.01), settings)
    except (EndpointError, EngineError):
        return "refused"
    return "told" if problem else "read"


def _asked(task: str, model: Any, settings: Any) -> object:
    """Do a task with a model; what is wrong with what came of it, if anything is."""
    from graphrag_dagster.apps.evaluation.llm.answer_judges import LlmAnswerJudge, LlmQualityJudge
    from graphrag_dagster.apps.evaluation.llm.question_writers import LlmQuestionWriter
    from graphrag_dagster.apps.evaluation.tasks import AnswerPair
    from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
    from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, PartialAnswer, ReportRequest, TextUnit
    from graphrag_dagster.systems.graphrag.llm.followup_questions import LlmExplorer, LlmReportRater
    from graphrag_dagster.systems.graphrag.llm.llm_answerer import LlmAnswerer
    from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
    from graphrag_dagster.systems.graphrag.llm.summarization import LlmReportWriter

    units = [ContextUnit(1, "Quay", "Built in 1998."), ContextUnit(2, "Fire", "It burnt.")]
    if task == "embed":
        return OpenAIEmbedder("e", settings, first_wait=0.01).embed(["a b", "c d"]).shape != (2, 3)
    if task in {"json", "tuples"}:
        kind = "json_schema" if task == "json" else "tuples"
        extractor = LlmGraphExtractor(model, entity_types=["person"], gleaning_rounds=0, replies=kind)
        [unit] = extractor.extract([TextUnit("u", "Ann Lee met Bo Ray.")])
        return unit.reason
    if task == "report":
        [written] = LlmReportWriter(model, fallback=_NoWriter()).write([ReportRequest("c", (), ())])
        return written.problem
    if task == "rate":
        [rated] = LlmReportRater(model).rate("Who?", [units], ["1|Quay\n2|Fire"])
        return next((one.problem for one in rated.ratings if one.problem), None)
    if task == "judge":
        [verdict] = LlmAnswerJudge(model).judge([AnswerPair("Who?", "a", "b", "directness")])
        return verdict.problem
    if task == "statements":
        return LlmQualityJudge(model).statements(["It was built."])[0].problem
    if task == "describe":
        return LlmQuestionWriter(model).describe(["It was built."]).problem
    if task == "explore":
        return LlmExplorer(model).primer("Who?", units, "1|Quay", 2).problem
    if task == "stream":
        partial = PartialAnswer("Built [Data: Reports (1)].", 50, (1,))
        return not LlmAnswerer(model, listen=lambda _: None).reduce("Who?", [partial]).text
    tagged = LlmAnswerer(model, replies="tuples" if task == "tagged" else "json_schema")
    return tagged.map("Who?", [units], ["1|Quay"])[0].problem


class _NoWriter:
    """Stands where a report must be replaced."""

    engine = "extractive"

    def write(self, requests: Any) -> list[Any]:
        from graphrag_dagster.kernel.tasks.task_ports import WrittenReport

        return [WrittenReport("t", "s", 1.0, "r", (), "extractive") for _ in requests]


SUBJECT = Subject("envelopes", cases, attack)
