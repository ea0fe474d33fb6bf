"""Choice of a warm or cold start for the communities of a run."""

from pydantic import Field

from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.systems.graphrag.communities.clustering import Start
from graphrag_dagster.systems.graphrag.settings import CommunitySettings


class ClusteringStart(Resource):
    """Has the communities of one run found from nothing, whatever the corpus's settings say."""

    cold: bool = Field(default=False, description="start from scratch")

    def of(self, settings: CommunitySettings) -> Start:
        """Return how this run begins: cold when asked for, otherwise as the settings say."""
        return "cold" if self.cold else settings.start
