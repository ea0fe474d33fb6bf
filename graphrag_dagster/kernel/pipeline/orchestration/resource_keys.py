"""Keys of our Dagster resources.

A project that includes these definitions may have its own ``io_manager`` or ``warehouse``, so our keys have a
prefix.
"""

_OURS = "graphrag_"


def resource_key(name: str) -> str:
    """The key of the resource that functions here call by a name."""
    return _OURS + name


IO_MANAGER = resource_key("io_manager")
