"""How much of an evaluation is done in a run."""

from pydantic import Field

from graphrag_dagster.core.resource import Resource
from graphrag_dagster.settings import CorpusSettings


class EvaluationScope(Resource):
    """Limits an evaluation to a sample of its questions; the same questions whenever the size is the same."""

    sample: int | None = Field(
        default=None, ge=1, description="questions that are judged and taken apart; default: the corpus's"
    )

    def sample_of(self, settings: CorpusSettings) -> int | None:
        """Questions of the sample of this run, None for all."""
        return settings.evaluation.sample if self.sample is None else self.sample
