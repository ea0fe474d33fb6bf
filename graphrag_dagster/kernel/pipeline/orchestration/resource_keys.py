"""Under which keys Dagster knows our resources.

A project that these definitions are part of may have an ``io_manager`` or a ``warehouse`` of its own, so our
keys begin with a word of ours.
"""

_OURS = "graphrag_"


def resource_key(name: str) -> str:
    """The key of the resource that functions here call by a name."""
    return _OURS + name


IO_MANAGER = resource_key("io_manager")
