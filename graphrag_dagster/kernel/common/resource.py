"""Base class of the resources of a run, for Dagster, the command line and Python alike."""

from pydantic import BaseModel, ConfigDict


class Resource(BaseModel):
    """A resource that is configured once and passed on, independent of how.

    Its fields are its configuration. For its configuration by Dagster see ``resources/configurable.py``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
