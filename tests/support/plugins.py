"""Packages that plug in, installed for a test."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from graphrag_dagster.kernel.catalogue import plugins, registry
from graphrag_dagster.kernel.documents.file_reading import extensions

_CACHED = (
    *(
        plugins.system_entry_points,
        registry.plugins,
        registry.systems,
        registry.tasks,
        registry.declared_parts,
        registry.searched_tables,
        registry.engines,
        registry.embedders,
        registry.rerankers,
        registry.methods,
        registry.formats,
        registry.model_folders,
    ),
    extensions,
)


def install(folder: Path, modules: Mapping[str, str], systems: Mapping[str, str], name: str = "toy") -> None:
    """Put a package where Python looks for packages, as an installer does.

    Args:
        folder: an empty folder that becomes its place.
        modules: file name → source.
        systems: its entry points: name → ``module:attribute``.
        name: of the distribution; its version is 1.0.
    """
    for file, source in modules.items():
        (folder / file).write_text(source, encoding="utf-8")
    told = folder / f"{name}-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    points = "".join(f"{one} = {target}\n" for one, target in systems.items())
    (told / "entry_points.txt").write_text(f"[graphrag_dagster.systems]\n{points}", encoding="utf-8")


@contextmanager
def plugged_in(
    folder: Path, modules: Mapping[str, str], systems: Mapping[str, str], name: str = "toy"
) -> Iterator[None]:
    """Install a package for as long as the block lasts; the arguments are those of :func:`install`."""
    install(folder, modules, systems, name)
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for file in modules:
            sys.modules.pop(Path(file).stem, None)
        _forget()


def _forget() -> None:
    for one in _CACHED:
        one.cache_clear()
