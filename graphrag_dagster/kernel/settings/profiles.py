"""Profiles of ``corpus.yaml``: values that systems declare under one name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from graphrag_dagster.kernel.catalogue.registry import engines, load_target, systems
from graphrag_dagster.kernel.settings.section import NamedChoice


def profiles() -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of each profile by name and key; unset keys keep their defaults."""
    by_name: dict[str, dict[str, Any]] = {"default": {}}
    for system in systems().values():
        for name, values in system.profiles.items():
            by_name.setdefault(name, {}).update(load_target(values))
    return dict(sorted(by_name.items(), key=lambda item: (item[0] != "default", item[0])))


#: A profile that systems declare.
ProfileName = Annotated[str, NamedChoice(profiles)]
#: Keys a profile sets only if the engine of their section uses a model; other engines reject them.
NEED_A_MODEL = frozenset(
    {"search.general_knowledge", "search.routing", "typing.enabled", "questions.testset.enabled"}
)
#: Keys a profile sets only if another key has the profile's value, too: sizes mean nothing in other units.
_ONLY_BESIDE = MappingProxyType(
    {
        "text_units.size": "text_units.strategy",
        "text_units.overlap": "text_units.strategy",
        "typing.enabled": "extraction.engine",
    }
)


def with_profile(given: Mapping[str, Any], engine: str) -> Mapping[str, Any]:
    """Return the given settings, completed with the profile's values.

    Malformed sections and unknown profiles are left to validation.

    Args:
        given: a mapping of settings, not yet validated.
        engine: the engine of a section that does not set one.
    """
    name = given.get("profile")
    values = profiles().get(name) if isinstance(name, str) else None
    if not values:
        return given
    filled = dict(given)
    engine = values.get("engine", engine)
    for key, value in values.items():
        if _fits(key, values, given, engine):
            _fill(filled, key.split("."), value)
    return filled


def _fill(section: dict[str, Any], path: list[str], value: Any) -> None:
    name, *below = path
    if not below:
        section.setdefault(name, value)
        return
    inner = section.get(name, {})
    if isinstance(inner, Mapping):
        section[name] = dict(inner)
        _fill(section[name], below, value)


def _fits(key: str, values: Mapping[str, Any], given: Mapping[str, Any], engine: str) -> bool:
    if other := _ONLY_BESIDE.get(key):
        section, name = other.split(".")
        if _own(given, section).get(name, values[other]) != values[other]:
            return False
    return key not in NEED_A_MODEL or _asks_model(given, key.partition(".")[0], engine)


def _own(given: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    values = given.get(section)
    return values if isinstance(values, Mapping) else {}


def _asks_model(given: Mapping[str, Any], section: str, engine: str) -> bool:
    chosen = _own(given, section).get("engine") or given.get("engine") or engine
    declared = engines().get(chosen) if isinstance(chosen, str) else None
    return declared is not None and declared.asks_model
