"""What the Batch API says of a batch, whatever of it is missing."""

from typing import Any

import pytest

from graphrag_dagster.kernel.models.batch_api import RemoteBatch, _remote

TOLD = {
    "id": "b1",
    "status": "completed",
    "request_counts": {"total": 9, "completed": 5, "failed": 3},
    "input_file_id": "in",
    "output_file_id": "out",
    "error_file_id": "err",
    "metadata": {"run": "r1"},
}


def test_what_failed_is_done_as_what_was_answered_is() -> None:
    assert _remote(TOLD) == RemoteBatch(
        id="b1",
        status="completed",
        done=8,
        input_file="in",
        files=("out", "err"),
        problem=None,
        metadata={"run": "r1"},
    )


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"request_counts": None}, "done", 0),
        ({"request_counts": {"completed": 4}}, "done", 4),
        ({"request_counts": {"failed": 4}}, "done", 4),
        ({"output_file_id": None}, "files", ("err",)),
        ({"error_file_id": ""}, "files", ("out",)),
        ({"input_file_id": 7}, "input_file", None),
        ({"metadata": None}, "metadata", {}),
        ({"errors": {"data": []}}, "problem", None),
        ({"errors": {"data": [{"message": "a"}, {"message": "b"}, {"message": "a"}]}}, "problem", "a; b"),
    ],
)
def test_what_is_missing_is_none(given: dict[str, Any], field: str, value: object) -> None:
    assert getattr(_remote(TOLD | given), field) == value
