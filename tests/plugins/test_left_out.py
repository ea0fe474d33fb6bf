"""Plug-ins that cannot be used: one warning each, and the rest works."""

import importlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster.catalogue import registry
from graphrag_dagster.catalogue.plugins import GROUPS
from graphrag_dagster.catalogue.ways import WAYS, Way
from graphrag_dagster.errors import CatalogueError
from support.plugins import install

MADE = """
from graphrag_dagster.catalogue.ways import Way

def answer(asked):
    raise NotImplementedError

def way(name, **more):
    return Way(name, "nothing", answer, "graphrag_dagster.core.search.sizes:one_call", **more)

"""
#: Module and entry point, and what is said of it.
BROKEN = {
    "global": (f"{MADE}BAD = way('global')", "there is already a method global; give it another name"),
    "SS": (f"{MADE}BAD = way('SS')", "there is already a method SS; give it another name"),
    "Local": (f"{MADE}BAD = way('Local')", "there is already a method Local; give it another name"),
    "raises": (
        "raise RuntimeError('no licence\\nfound')",
        "it cannot be loaded (RuntimeError: no licence found)",
    ),
    "ends": ("raise SystemExit(3)", "it cannot be loaded (SystemExit: 3)"),
    "wrong": (
        "BAD = 'wrong'",
        "it names a str in place of a graphrag_dagster.catalogue.ways.Way",
    ),
    "other": (
        f"{MADE}BAD = way('another')",
        "it declares the name 'another'; the entry point has to have the same",
    ),
    "C7": (
        f"{MADE}BAD = way('C7')",
        "it cannot be loaded (CatalogueError: C7 is the name of the condition of that community level)",
    ),
    "needy": (
        f"{MADE}BAD = way('needy', tasks=('poet',))",
        "it cannot be loaded (CatalogueError: needy: there is no task 'poet'; there are graph_extractor, ",
    ),
    "absent": ("", "it cannot be loaded (AttributeError: module 'absent_module' has no attribute 'BAD')"),
}


@pytest.fixture
def looked_for() -> Iterator[None]:
    """The catalogue looks for plug-ins anew, now and after the test."""
    kept = (registry.ways, registry.engines, registry.embedders, registry.formats, registry._added)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


@pytest.mark.usefixtures("looked_for")
@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_is_left_out_with_one_warning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module, problem = BROKEN[name]
    modules = {f"{name}_module": module, "fine_module": f"{MADE}FINE = way('fine')"}
    points = {name: f"{name}_module:BAD", "fine": "fine_module:FINE"}
    monkeypatch.syspath_prepend(str(install(tmp_path, "of-others", modules, {GROUPS["method"]: points})))
    importlib.invalidate_caches()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert list(registry.ways()) == [*(one.name for one in WAYS), "fine"]
    (told,) = caplog.messages
    assert told.startswith(f"the method {name!r} of of-others 1.0 is left out: {problem}")
    assert {one.name: one.problem is None for one in registry.installed()} == {name: False, "fine": True}
    for one in modules:
        sys.modules.pop(one, None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("two words", "a name begins with a letter"), ("", "a name begins"), ("a:b", "a name begins")],
)
def test_a_name_that_cannot_be_asked_by_is_no_name(name: str, problem: str) -> None:
    with pytest.raises(CatalogueError, match=problem):
        Way(name, "nothing", len, len)


@pytest.mark.parametrize("target", [None, 7, "no function", "a:b:c"])
def test_what_answers_is_a_function_or_names_one(target: object) -> None:
    with pytest.raises(CatalogueError, match="mine: answer is no function"):
        Way("mine", "nothing", target, len)
    with pytest.raises(CatalogueError, match="mine: size is no function"):
        Way("mine", "nothing", len, target)


@pytest.mark.parametrize("target", ["no_such_module:answer", "graphrag_dagster.core.search.sizes:no_such"])
def test_a_function_that_is_not_there_is_named(target: str) -> None:
    with pytest.raises(CatalogueError, match=f"{target} cannot be loaded"):
        registry.loaded(target)
