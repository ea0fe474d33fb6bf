"""How the communities of a run are begun."""

from pydantic import Field

from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.systems.graphrag.communities.clustering import Start
from graphrag_dagster.systems.graphrag.settings import CommunitySettings


class ClusteringStart(Resource):
    """Has the communities of one run found from nothing, whatever the corpus's settings say."""

    cold: bool = Field(default=False, description="begin from nothing")

    def of(self, settings: CommunitySettings) -> Start:
        """Return how this run begins: cold when asked for, otherwise as the settings say."""
        return "cold" if self.cold else settings.start
