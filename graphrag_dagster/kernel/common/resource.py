"""Base of the resources of a run, whoever runs it: Dagster, the command line, or Python."""

from pydantic import BaseModel, ConfigDict


class Resource(BaseModel):
    """Something that is set up once and handed on; it knows nothing of who does it.

    Its fields are what can be set. How Dagster sets them up is said in ``assets/resources.py``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
