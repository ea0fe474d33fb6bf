"""The code as it is now, to be compared with what made a published state."""

from graphrag_dagster.operations.keeping.changes import Code
from graphrag_dagster.orchestration.code_versions.versions import AssetCode, code_of_assets


def code_now() -> dict[str, Code]:
    """Return the version of the code that makes each asset, and its stage, by asset key."""
    return {key: Code(version, stage) for key, (version, stage) in code_of_assets(_read_off).items()}


def _read_off() -> dict[str, AssetCode]:
    # Dagster and all that the assets call: loaded where it is not remembered what comes of it.
    from graphrag_dagster.assets import ASSETS

    return {
        "/".join(spec.key.path): (spec.code_version, str(spec.group_name))
        for asset in ASSETS
        for spec in asset.specs
        if spec.code_version
    }
