"""What it means that words support a statement, and who says so."""

from typing import Literal, get_args

#: ``supported``: the words say it; ``partly``: they say some of it, or something near it; ``not``: they do
#: not say it, or say something else.
Verdict = Literal["supported", "partly", "not"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: ``words``: rules; ``nli``: a model for natural language inference on this machine; ``model``: a chat model.
JudgeName = Literal["words", "nli", "model"]
