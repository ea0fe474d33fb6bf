"""The examples in docstrings give what they say."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import graphrag_dagster

PACKAGE = Path(graphrag_dagster.__file__).parent
WITH_EXAMPLES = [
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    for file in sorted(PACKAGE.rglob("*.py"))
    if re.search(r"^\s*>>> ", file.read_text(encoding="utf-8"), re.MULTILINE)
]
#: Their examples ask the corpus ``coast``.
ASKING = ["graphrag_dagster.index", "graphrag_dagster.apps.explorer.explorer"]


def told(name: str) -> doctest.TestResults:
    return doctest.testmod(import_module(name.removesuffix(".__init__")))


@pytest.mark.parametrize("name", [name for name in WITH_EXAMPLES if name not in ASKING])
def test_examples_give_what_they_say(name: str) -> None:
    found = told(name)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", ASKING)
def test_the_examples_of_asking_give_what_they_say(coast: Path, name: str) -> None:
    assert name in WITH_EXAMPLES
    assert told(name).failed == 0


def test_no_example_is_left_out() -> None:
    sources = (file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert not [source for source in sources if "doctest: +SKIP" in source]
