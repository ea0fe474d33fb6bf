"""Packages of plug-ins, as an installer leaves them in a folder of the path."""

from collections.abc import Mapping
from pathlib import Path


def install(
    site: Path, package: str, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]
) -> Path:
    """Put a package with its entry points, names by group, into a folder; gives the folder."""
    site.mkdir(exist_ok=True)
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text, encoding="utf-8")
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    told = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(told) + "\n", encoding="utf-8")
    return site
