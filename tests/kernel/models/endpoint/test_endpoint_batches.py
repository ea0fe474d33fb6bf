import io
import json
from typing import Any

import openai
import pytest

from support.endpoint import Fault, ScriptedEndpoint
from support.short_ways import client


def submit(endpoint: ScriptedEndpoint, lines: list[dict[str, Any]]) -> Any:
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client(endpoint).files.create(file=("lines.jsonl", io.BytesIO(content)), purpose="batch")
    return client(endpoint).batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"what": "test"},
    )


def line(name: str, **more: Any) -> dict[str, Any]:
    body = {"model": "scripted", "messages": [{"role": "user", "content": f"Say {name}"}], **more}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def results(endpoint: ScriptedEndpoint, file: str) -> dict[str, dict[str, Any]]:
    lines = client(endpoint).files.content(file).text.splitlines()
    return {one["custom_id"]: one for one in map(json.loads, lines)}


def echo(body: dict[str, Any]) -> str:
    return f"You said: {body['messages'][0]['content']}\u2028"


def test_a_batch_is_answered_after_some_polls() -> None:
    with ScriptedEndpoint(echo, batch_steps=2) as endpoint:
        batch = submit(endpoint, [line("a"), line("b"), line("c")])
        assert (batch.status, batch.metadata) == ("validating", {"what": "test"})
        polled = [client(endpoint).batches.retrieve(batch.id) for _ in range(3)]
        assert [one.status for one in polled] == ["in_progress", "in_progress", "completed"]
        assert [one.request_counts.completed for one in polled] == [1, 2, 3]
        assert polled[-1].error_file_id is None
        answers = results(endpoint, polled[-1].output_file_id)
        assert [one.id for one in client(endpoint).batches.list()] == [batch.id]
        assert endpoint.tally()["batched"] == 3
        assert endpoint.batches[batch.id].told["status"] == "completed"
    assert list(answers) == ["c", "b", "a"]
    body = answers["b"]["response"]["body"]
    assert body["choices"][0]["message"]["content"] == "You said: Say b\u2028"
    assert body["usage"]["prompt_tokens"] == 1


def test_lines_that_fail_stand_in_the_error_file() -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        said = json.dumps(body.get("messages"))
        return Fault(500, "broken") if "Say a" in said else Fault(drop=True) if "Say b" in said else None

    lines = [line("a"), line("b"), line("c"), line("d", logit_bias={"1": 1})]
    with ScriptedEndpoint(echo, faults=faults, batch_steps=0, unsupported={"logit_bias"}) as endpoint:
        batch = client(endpoint).batches.retrieve(submit(endpoint, lines).id)
        assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 3)
        errors = results(endpoint, batch.error_file_id)
        assert set(results(endpoint, batch.output_file_id)) == {"c"}
    assert errors["a"]["response"]["status_code"] == 500
    assert errors["a"]["response"]["body"]["error"]["message"] == "broken"
    assert errors["b"]["error"]["code"] == "request_timeout"
    assert errors["d"]["response"]["status_code"] == 400


def test_a_batch_may_expire() -> None:
    with ScriptedEndpoint(echo, batch_steps=0, batch_expires_after=1) as endpoint:
        batch = client(endpoint).batches.retrieve(submit(endpoint, [line("a"), line("b")]).id)
        assert batch.status == "expired"
        assert set(results(endpoint, batch.output_file_id)) == {"a"}
        assert results(endpoint, batch.error_file_id)["b"]["error"]["code"] == "batch_expired"


def test_a_batch_may_be_cancelled() -> None:
    with ScriptedEndpoint(echo, batch_steps=3) as endpoint:
        batch = submit(endpoint, [line("a"), line("b")])
        for _ in range(2):
            client(endpoint).batches.retrieve(batch.id)
        assert client(endpoint).batches.cancel(batch.id).status == "cancelling"
        cancelled = client(endpoint).batches.retrieve(batch.id)
        assert cancelled.status == "cancelled"
        assert set(results(endpoint, cancelled.output_file_id)) == {"a"}
        assert results(endpoint, cancelled.error_file_id)["b"]["error"]["code"] == "batch_cancelled"
        with pytest.raises(openai.ConflictError):
            client(endpoint).batches.cancel(batch.id)


@pytest.mark.parametrize(
    ("lines", "fails", "said"),
    [
        ([line("a"), line("a")], None, "custom_id a stands twice"),
        ([], None, "no requests"),
        ([{"custom_id": "a"}], None, "Line 1 is no request"),
        ([line("a")], "The limit of enqueued tokens is reached.", "enqueued tokens"),
    ],
)
def test_a_batch_may_fail(lines: list[dict[str, Any]], fails: str | None, said: str) -> None:
    with ScriptedEndpoint(echo, batch_fails=fails) as endpoint:
        batch = client(endpoint).batches.retrieve(submit(endpoint, lines).id)
        assert batch.status == "failed"
        assert said in batch.errors.data[0].message
        with pytest.raises(openai.NotFoundError):
            client(endpoint).batches.retrieve("batch_none")
