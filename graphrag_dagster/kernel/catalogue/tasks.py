"""The language tasks: their implementations, the roles of a model, and the prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.answering_ports import SupportJudge

#: What does a task, as its port says.
Port = TypeVar("Port", covariant=True)


@dataclass(frozen=True, slots=True)
class Role:
    """A role of the model; each may have its own model (``model.tasks`` of ``corpus.yaml``).

    Attributes:
        name: its key there.
        longest_reply: tokens, unless the settings say otherwise.
    """

    name: str
    longest_reply: int


#: The engines of this package: one asks a chat model, the others need none.
LLM, EXTRACTIVE, GLINER_REBEL = "llm", "extractive", "gliner-rebel"


@dataclass(frozen=True, slots=True)
class Task(Generic[Port]):
    """A language task. ``session.task(ROUTER)`` gives what does it, of the type that it is declared with:
    where that may be None, nothing else than a model does it, or it may be switched off.

    Attributes:
        name: as engines and people call it.
        section: of ``corpus.yaml``, whose engine does it.
        role: as what a model is asked.
        prompts: their names.
        done_by: engines of this package that do it; one of another package says so itself.
        waited_for: someone waits for it, so that it is never sent as a batch.
        switch: where in ``corpus.yaml`` a key ``enabled`` switches it on; blank: it always is.
    """

    name: str
    section: str
    role: str
    prompts: tuple[str, ...] = ()
    done_by: tuple[str, ...] = (EXTRACTIVE, LLM)
    waited_for: bool = False
    switch: str = ""

    @property
    def title(self) -> str:
        """Display name of the implementation."""
        return self.name.replace("_", " ")

    @property
    def model_only(self) -> bool:
        """Nothing but a model can do it; where the section's engine is none, it is left out."""
        return self.done_by == (LLM,)


ROLES = (
    Role("extract", 4000),
    Role("type", 1000),
    Role("resolve", 2000),
    Role("summarise", 1500),
    Role("report", 2000),
    Role("answer", 4000),
    Role("judge", 1000),
    Role("route", 300),
    Role("select", 1000),
    Role("validate", 300),
    Role("testset", 4000),
    Role("embed", 0),
)

#: Prompts that any task may need.
SHARED_PROMPTS = ("json_only", "retry")


def asking(*names: str) -> tuple[str, ...]:
    """The prompts of questions that have one for the system and one for the user."""
    return tuple(f"{name}_{part}" for name in names for part in ("system", "user"))


SUPPORT_JUDGE: Task[SupportJudge | None] = Task(
    "support_judge",
    "search",
    "judge",
    asking("judge_support"),
    waited_for=True,
    done_by=(LLM,),
)
