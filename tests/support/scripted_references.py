"""Replies to the prompts that write a context of a model's own, and questions from documents, by patterns.

A question about a document asks for one of its sentences; the sentence is the reference answer and the evidence.
"""

import json
import re
from typing import Any

from support.conversations import asked_of, section

_SENTENCE = re.compile(r"[A-Z][^.!?\n]{20,}[.!?]")
#: What the script knows without documents; none of it stands in a corpus of the tests.
KNOWN = "Lighthouses were built of stone. Keepers such as Ada Marlow trimmed their lamps by night."


def reference_reply(body: dict[str, Any]) -> str | None:
    """Answer one of these prompts; None where it is another's."""
    asked = asked_of(body)
    if asked.task == "own_context":
        return KNOWN
    if asked.task != "write_testset":
        return None
    there = section(asked.data, "material") or ""
    wanted = int(re.findall(r"How many questions to give: (\d+)", asked.data)[-1])
    document = section(asked.data, "source_text") or ""
    made = [
        {"question": question, "reference": sentence, "evidence": sentence}
        for sentence in dict.fromkeys(_SENTENCE.findall(document.partition("\n")[2]))
        if (question := f"Is it told that {sentence[:-1]}?") not in there
    ]
    return json.dumps({"questions": made[:wanted]})
