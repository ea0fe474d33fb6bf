"""The language tasks, the roles of models, and the prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

#: The port that implementations of a task have.
Port = TypeVar("Port", covariant=True)


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a model. Each may have its own model (``model.tasks`` of ``corpus.yaml``).

    Attributes:
        name: its key there.
        longest_reply: default reply limit in tokens.
    """

    name: str
    longest_reply: int


#: The built-in engines; only the first calls a chat model.
LLM, EXTRACTIVE, GLINER_REBEL = "llm", "extractive", "gliner-rebel"


@dataclass(frozen=True, slots=True)
class Task(Generic[Port]):
    """A language task. ``session.task(ROUTER)`` returns its implementation, of the type it is declared with:
    an optional type means that only a model can do it, or that it may be switched off.

    Attributes:
        name: its name to engines and users.
        section: section of ``corpus.yaml`` that selects the engine.
        role: the model role.
        prompts: names of its prompts.
        done_by: built-in engines that support it; those of plug-ins declare that themselves.
        waited_for: someone waits for the reply, so it is never sent as a batch.
        switch: section of ``corpus.yaml`` whose key ``enabled`` switches it on; blank: always on.
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
        """Display name."""
        return self.name.replace("_", " ")

    @property
    def model_only(self) -> bool:
        """Whether only a model can do it; it is left out if the section's engine is not one."""
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


def prompt_pairs(*names: str) -> tuple[str, ...]:
    """Return the names of the system prompt and the user prompt of each name."""
    return tuple(f"{name}_{part}" for name in names for part in ("system", "user"))
