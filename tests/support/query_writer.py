"""A model that writes queries as a test says, and does all else as the scripts of names do."""

import json
from typing import Any

from support.endpoint import name_pattern_script


class QueryWriter:
    """Answers with these queries, one after the other.

    Args:
        language: the key of the reply that holds the query.
        asked_by: words of the prompt that asks for one.
    """

    def __init__(self, language: str, asked_by: str) -> None:
        self._language, self._asked_by = language, asked_by
        self.replies: list[str] = []
        self.prompts: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        system, *_ = body["messages"]
        if self._asked_by not in system["content"]:
            return name_pattern_script(body)
        self.prompts.append(body["messages"][-1]["content"])
        return self.replies.pop(0)

    def will(self, *queries: str, reading: str = "Entities by degree") -> None:
        self.replies += [json.dumps({"reading": reading, self._language: one}) for one in queries]
