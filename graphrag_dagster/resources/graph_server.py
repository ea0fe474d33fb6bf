"""The graph server that a section of the settings names."""

import os

from graphrag_dagster.resources.bolt import BoltServer
from graphrag_dagster.settings.graphs import ServerSettings


def server_of(settings: ServerSettings) -> BoltServer:
    """Return the graph server that the settings name, with the credentials of the environment."""
    return BoltServer(
        settings.uri or "",
        settings.database,
        os.environ.get(settings.user_variable) or None,
        os.environ.get(settings.password_variable) or None,
    )
