"""Files and batches of an OpenAI-compatible endpoint."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from support.chat_replies import Refusal

AnswerLine = Callable[[str, dict[str, Any]], tuple[int, dict[str, Any]] | None]

_FINAL = {"completed", "failed", "expired", "cancelled"}
_ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")


@dataclass
class Batch:
    """A batch and its lines; ``polls`` counts how often its state was asked for, in a list too."""

    told: dict[str, Any]
    lines: list[dict[str, Any]] = field(default_factory=list)
    polls: int = 0


class BatchRoutes:
    """Answers the requests about files and batches.

    Args:
        answer_line: answers the URL and body of a line with status and body; None where the line times out.
        steps: how many times a batch is seen in progress.
        expires_after: only so many lines are answered before the batch expires.
        fails: with this message every batch fails.
    """

    def __init__(
        self,
        answer_line: AnswerLine,
        *,
        steps: int = 1,
        expires_after: int | None = None,
        fails: str | None = None,
    ) -> None:
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._answer_line = answer_line
        self._steps = steps
        self._expires_after = expires_after
        self._fails = fails
        self._numbers = count(1)
        self._lock = threading.Lock()

    def serve(self, method: str, path: str, kind: str, content: bytes) -> dict[str, Any] | bytes:
        """Answer a request; ``path`` follows ``/v1/``, ``kind`` is its content type.

        Raises:
            Refusal: nothing is there, or the request makes no sense.
        """
        what, _, rest = path.partition("/")
        name, _, action = rest.partition("/")
        with self._lock:
            if what == "files":
                return self._files(method, name, action, kind, content)
            if method == "POST" and not name:
                return self._create(json.loads(content))
            if not name:
                told = [self._polled(one) for one in reversed(list(self.batches.values()))]
                return {"object": "list", "data": told, "has_more": False}
            if name not in self.batches:
                raise Refusal(404, f"No batch found with id '{name}'.", "not_found", "batch_id")
            if action == "cancel":
                return self._cancel(self.batches[name])
            return self._polled(self.batches[name])

    def _files(
        self, method: str, name: str, action: str, kind: str, content: bytes
    ) -> dict[str, Any] | bytes:
        if method == "POST" and not name:
            form = _form(kind, content)
            if form.get("purpose") != b"batch" or "file" not in form:
                raise Refusal(400, "Invalid file: purpose must be 'batch'.", "invalid_request", "purpose")
            return self._store(form["file"], "batch")
        if not name:
            return {"object": "list", "data": [told for told, _ in self.files.values()], "has_more": False}
        if name not in self.files:
            raise Refusal(404, f"No such File object: {name}", "not_found", "id")
        if method == "DELETE":
            del self.files[name]
            return {"id": name, "object": "file", "deleted": True}
        told, stored = self.files[name]
        return stored if action == "content" else told

    def _store(self, content: bytes, purpose: str) -> dict[str, Any]:
        told = {
            "id": f"file-{next(self._numbers):06d}",
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": f"{purpose}.jsonl",
            "purpose": purpose,
            "status": "processed",
        }
        self.files[str(told["id"])] = (told, content)
        return told

    def _create(self, asked: dict[str, Any]) -> dict[str, Any]:
        source = asked.get("input_file_id")
        if source not in self.files:
            raise Refusal(400, f"No such File object: {source}", "invalid_request", "input_file_id")
        if asked.get("endpoint") not in _ENDPOINTS:
            message = f"Invalid value: '{asked.get('endpoint')}'. Supported: {', '.join(_ENDPOINTS)}"
            raise Refusal(400, message, "invalid_value", "endpoint")
        lines, errors = _read_lines(self.files[source][1], asked["endpoint"])
        if self._fails is not None:
            errors = [_error("validation_failed", self._fails, None)]
        told = {
            "id": f"batch_{len(self.batches) + 1:06d}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "errors": {"object": "list", "data": errors} if errors else None,
            "input_file_id": source,
            "completion_window": asked.get("completion_window", "24h"),
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": int(time.time()),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "metadata": asked.get("metadata"),
        }
        self.batches[str(told["id"])] = Batch(told, lines)
        return dict(told)

    def _polled(self, batch: Batch) -> dict[str, Any]:
        told = batch.told
        if told["status"] == "cancelling":
            done = told["request_counts"]["completed"]
            self._finish(batch, done, "cancelled", "batch_cancelled")
        elif told["status"] not in _FINAL:
            batch.polls += 1
            if told["errors"]:
                told["status"] = "failed"
                told["failed_at"] = int(time.time())
            elif batch.polls <= self._steps:
                told["status"] = "in_progress"
                reached = len(batch.lines) * batch.polls // (self._steps + 1)
                told["request_counts"] = {**told["request_counts"], "completed": reached}
            else:
                answered = len(batch.lines) if self._expires_after is None else self._expires_after
                status = "completed" if answered >= len(batch.lines) else "expired"
                self._finish(batch, answered, status, "batch_expired")
        return dict(told)

    def _cancel(self, batch: Batch) -> dict[str, Any]:
        if batch.told["status"] in _FINAL:
            message = f"Cannot cancel a batch with status '{batch.told['status']}'."
            raise Refusal(409, message, "invalid_request", None)
        batch.told["status"] = "cancelling"
        return dict(batch.told)

    def _finish(self, batch: Batch, answered: int, status: str, code: str) -> None:
        """Answer the first lines; the results stand in reverse order, as their order is not promised."""
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for number, line in enumerate(batch.lines):
            result = self._result(number, line, code if number >= answered else None)
            (good if (result["response"] or {}).get("status_code") == 200 else bad).append(result)
        told = batch.told
        told["status"] = status
        told[f"{status}_at"] = int(time.time())
        told["request_counts"] = {"total": len(batch.lines), "completed": len(good), "failed": len(bad)}
        for key, results in (("output_file_id", good), ("error_file_id", bad)):
            if results:
                content = "".join(json.dumps(one) + "\n" for one in reversed(results))
                told[key] = self._store(content.encode(), "batch_output")["id"]

    def _result(self, number: int, line: dict[str, Any], left_out: str | None) -> dict[str, Any]:
        told: dict[str, Any] = {
            "id": f"batch_req_{number:06d}",
            "custom_id": line["custom_id"],
            "response": None,
            "error": None,
        }
        answer = None if left_out else self._answer_line(line["url"], line["body"])
        if answer is None:
            code = left_out or "request_timeout"
            return {**told, "error": {"code": code, "message": f"This request was not executed: {code}."}}
        status, body = answer
        return {**told, "response": {"status_code": status, "request_id": f"req_{number:06d}", "body": body}}


def _read_lines(content: bytes, endpoint: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The lines of a batch and what is wrong with them."""
    lines: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, raw in enumerate(content.decode().split("\n"), 1):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
            name, url = line["custom_id"], line["url"]
            if not isinstance(line["body"], dict) or line["method"] != "POST":
                raise TypeError
        except (ValueError, KeyError, TypeError):
            errors.append(_error("invalid_json_line", f"Line {number} is no request.", number))
            continue
        if url != endpoint:
            errors.append(_error("invalid_url", f"The url of line {number} is not {endpoint}.", number))
        if name in seen:
            errors.append(_error("duplicate_custom_id", f"The custom_id {name} stands twice.", number))
        seen.add(name)
        lines.append(line)
    if not lines and not errors:
        errors.append(_error("empty_file", "The input file has no requests.", None))
    return lines, errors


def _error(code: str, message: str, line: int | None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": None, "line": line}


def _form(kind: str, content: bytes) -> dict[str, bytes]:
    """The fields of a multipart form by name."""
    boundary = re.search(r'boundary="?([^";]+)"?', kind)
    if boundary is None:
        raise Refusal(400, "The request is no multipart form.", "invalid_request", None)
    form = {}
    for part in content.split(b"--" + boundary[1].encode())[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        if name := re.search(rb'name="([^"]*)"', head):
            form[name[1].decode()] = value.removesuffix(b"\r\n")
    return form
