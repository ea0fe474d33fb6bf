"""The revisions of Dagster's records, read once.

Alembic reads all files of a folder of revisions, some sixty, whenever it is asked which is the newest, and
Dagster asks it twice for each file of records.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from alembic.config import Config
from alembic.script import ScriptDirectory

_READ: dict[str, ScriptDirectory] = {}
_LOCK = Lock()


@contextmanager
def revisions_read_once() -> Iterator[None]:
    """Have what opens or makes records in this block know the revisions that were read before."""
    with _LOCK:
        usual = vars(ScriptDirectory)["from_config"]
        read = ScriptDirectory.from_config

        def known(config: Config) -> ScriptDirectory:
            place = config.get_main_option("script_location") or ""
            if place not in _READ:
                _READ[place] = read(config)
            return _READ[place]

        setattr(ScriptDirectory, "from_config", staticmethod(known))  # noqa: B010
        try:
            yield
        finally:
            setattr(ScriptDirectory, "from_config", usual)  # noqa: B010
