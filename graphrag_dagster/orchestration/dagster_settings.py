"""What the settings of a Dagster instance say; reading them needs nothing of Dagster."""

from pathlib import Path

import yaml

FILE = "dagster.yaml"


def keeps_records_elsewhere(folder: Path) -> bool:
    """Whether the instance in a folder keeps its records where its settings say, not in the folder.

    Raises:
        OSError: there are no settings, or they cannot be read.
        yaml.YAMLError: they are no YAML.
    """
    settings = yaml.safe_load((folder / FILE).read_text(encoding="utf-8"))
    return isinstance(settings, dict) and any("storage" in name for name in settings)
