"""Profiles: one key, ``profile``, sets values for other keys that ``corpus.yaml`` does not set."""

from collections.abc import Mapping
from typing import Annotated, Any

from graphrag_dagster.kernel.catalogue.registry import engines, loaded, systems
from graphrag_dagster.kernel.settings.section import Choice


def profiles() -> Mapping[str, Mapping[str, Any]]:
    """Return values of settings by profile and key; keys that a profile does not name keep their defaults."""
    found: dict[str, dict[str, Any]] = {"default": {}}
    for system in systems().values():
        for name, values in system.profiles.items():
            found.setdefault(name, {}).update(loaded(values))
    return dict(sorted(found.items(), key=lambda one: (one[0] != "default", one[0])))


#: A profile that systems declare.
ProfileName = Annotated[str, Choice(profiles)]
#: Keys set only if the engine of their section uses a model; other engines reject the value.
NEED_A_MODEL = frozenset({"search.general_knowledge"})
#: Keys that count tokens; they are not set when text units are measured in characters.
_IN_TOKENS = frozenset({"text_units.size", "text_units.overlap"})


def with_profile(given: Mapping[str, Any], engine: str) -> Mapping[str, Any]:
    """Return the given settings, with the profile's values for the keys that are not given.

    Malformed sections and unknown profiles are left to validation.

    Args:
        given: a mapping of settings, not yet validated.
        engine: the engine of a section that sets none.
    """
    name = given.get("profile")
    values = profiles().get(name) if isinstance(name, str) else None
    if not values:
        return given
    filled = dict(given)
    for key, value in values.items():
        if _fits(key, given, engine):
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


def _fits(key: str, given: Mapping[str, Any], engine: str) -> bool:
    section = key.partition(".")[0]
    if key in _IN_TOKENS:
        return _own(given, section).get("strategy") != "characters"
    return key not in NEED_A_MODEL or _asks_model(given, section, engine)


def _own(given: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    own = given.get(section)
    return own if isinstance(own, Mapping) else {}


def _asks_model(given: Mapping[str, Any], section: str, engine: str) -> bool:
    chosen = _own(given, section).get("engine") or given.get("engine") or engine
    known = engines().get(chosen) if isinstance(chosen, str) else None
    return known is not None and known.asks_model
