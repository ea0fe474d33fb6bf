"""Profiles: what one key, ``profile``, sets of the others where ``corpus.yaml`` does not say."""

from collections.abc import Mapping
from typing import Annotated, Any

from graphrag_dagster.kernel.catalogue.registry import engines, loaded, systems
from graphrag_dagster.kernel.settings.section import Choice


def profiles() -> Mapping[str, Mapping[str, Any]]:
    """Return values of settings by profile and key; a profile leaves what it does not name at its default."""
    found: dict[str, dict[str, Any]] = {"default": {}}
    for system in systems().values():
        for name, values in system.profiles.items():
            found.setdefault(name, {}).update(loaded(values))
    return dict(sorted(found.items(), key=lambda one: (one[0] != "default", one[0])))


#: A profile of those that systems declare.
ProfileName = Annotated[str, Choice(profiles)]
#: Keys that are only set where the engine of their section asks a model: the others refuse the value.
NEED_A_MODEL = frozenset({"search.general_knowledge"})
#: Keys that count tokens, and are not set where text units are measured in characters.
_IN_TOKENS = frozenset({"text_units.size", "text_units.overlap"})


def with_profile(given: Mapping[str, Any], engine: str) -> Mapping[str, Any]:
    """Return settings as they are given, and what their profile sets of the keys that are not given.

    What is no section where one should be, and a profile that there is not, are left to validation.

    Args:
        given: a mapping of settings that nobody has looked at.
        engine: that of a section for which none is given.
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
