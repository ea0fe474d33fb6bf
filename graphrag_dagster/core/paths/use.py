"""What the modules of an instance cost."""

from dataclasses import dataclass, field

from graphrag_dagster.core.language.tasks import Usage


@dataclass(frozen=True, slots=True)
class ModuleUse:
    """What a module asked of models, and what went wrong.

    Attributes:
        usage: of a chat model.
        scored: texts that a scorer compared with the question.
        scored_tokens: tokens of these, 0 where the scorer reads none.
        empty: selections of which nothing was left: no candidate fitted, or the reply named none.
        problems: why replies were of no use.
    """

    usage: Usage = field(default_factory=Usage)
    scored: int = 0
    scored_tokens: int = 0
    empty: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: "ModuleUse") -> "ModuleUse":
        return ModuleUse(
            self.usage + other.usage,
            self.scored + other.scored,
            self.scored_tokens + other.scored_tokens,
            self.empty + other.empty,
            self.problems + other.problems,
        )
