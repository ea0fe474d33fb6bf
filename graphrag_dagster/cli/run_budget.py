"""What a run may use, and what became of it, without Dagster."""

from dataclasses import dataclass

#: Exit code of a run that is finished but lacks something a model was to give.
INCOMPLETE = 3


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The most that a run may use: tokens, and US dollars; None for no limit."""

    max_tokens: int | None = None
    max_usd: float | None = None

    def config(self) -> dict[str, float]:
        """The limits that there are, as the resource ``language`` takes them."""
        limits = {"max_tokens": self.max_tokens, "max_usd": self.max_usd}
        return {key: limit for key, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A finished run and the seconds it took; ``run_id`` is None where none was needed."""

    run_id: str | None
    seconds: float
