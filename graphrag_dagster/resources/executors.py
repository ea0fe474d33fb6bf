"""Executors of a run's steps, chosen by name; the definitions stay the same."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args

from dagster import ExecutorDefinition, Field, Int, Noneable, in_process_executor, multiprocess_executor

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.storage.home import CACHE, CORPORA, HOME, WAREHOUSE, home

EXECUTOR = "GRAPHRAG_DAGSTER_EXECUTOR"
ExecutorName = Literal["in_process", "multiprocess", "ray", "k8s"]
DEFAULT: ExecutorName = "in_process"

#: Modules every step needs, loaded before steps are forked. A fork hangs if another thread holds a lock then.
#: Threads that Polars, NumPy and DuckDB start on import are idle in the process that is forked, but maybe not
#: with the system's BLAS, as on macOS.
_LOADED_ONCE = ("dagster", "alembic", "sqlalchemy", "httpx2")
_LOADED_ON_LINUX = ("graphrag_dagster.definitions",)
#: Variables that remote steps need to find the files. Never keys: Ray shows a job's variables to its users.
_PLACES = (HOME, CORPORA, WAREHOUSE, CACHE, EXECUTOR)


def chosen_executor() -> ExecutorDefinition:
    """Return the executor that ``$GRAPHRAG_DAGSTER_EXECUTOR`` names; default: ``in_process``.

    Commands of the command line always run in their own process. The run config schema depends on the
    executor, so Dagster must know it when it loads the definitions.

    Raises:
        SettingsError: no such executor, or its package is not installed.
    """
    try:
        return executor_named(os.environ.get(EXECUTOR) or DEFAULT)
    except SettingsError as error:
        raise SettingsError(f"{EXECUTOR}: {error}") from error


def executor_named(name: str) -> ExecutorDefinition:
    """Return the executor of that name.

    Raises:
        SettingsError: no such executor, or its package is not installed.
    """
    if name not in _EXECUTORS:
        raise SettingsError(f"{name!r} is not an executor; use one of {', '.join(_EXECUTORS)}")
    return _EXECUTORS[name]()


def preloaded_modules() -> list[str]:
    """Return the modules preloaded for steps in separate processes on this system."""
    return [*_LOADED_ONCE, *(_LOADED_ON_LINUX if sys.platform == "linux" else ())]


def _in_process() -> ExecutorDefinition:
    return in_process_executor


def _multiprocess() -> ExecutorDefinition:
    def options(config: dict[str, Any]) -> dict[str, Any]:
        return {**config, "start_method": {"forkserver": {"preload_modules": preloaded_modules()}}}

    return multiprocess_executor.configured(
        options,
        name="multiprocess",
        config_schema={
            "max_concurrent": Field(
                Noneable(Int), default_value=None, description="concurrent steps; default: one per processor"
            )
        },
    )


def _ray() -> ExecutorDefinition:
    executor = _from_extra("dagster_ray", "ray_executor", "ray")

    def options(config: dict[str, Any]) -> dict[str, Any]:
        variables = {
            HOME: str(home()),
            **{name: os.environ[name] for name in _PLACES if os.environ.get(name)},
        }
        return {"ray": {**config, "env_vars": [f"{name}={value}" for name, value in variables.items()]}}

    return executor.configured(
        options,
        name="ray",
        config_schema={
            "address": Field(
                Noneable(str),
                default_value=None,
                description="address of the Ray cluster; default: $RAY_ADDRESS",
            ),
            "num_cpus": Field(float, default_value=1.0, description="processors per step"),
        },
    )


def _kubernetes() -> ExecutorDefinition:
    return _from_extra("dagster_k8s", "k8s_job_executor", "kubernetes")


def _from_extra(module: str, attribute: str, extra: str) -> ExecutorDefinition:
    try:
        executor = getattr(import_module(module), attribute)
    except ImportError as error:
        raise SettingsError(
            f"the executor needs {error.name or module}, which is not installed; install "
            f"'graphrag-dagster[{extra}]'"
        ) from error
    if not isinstance(executor, ExecutorDefinition):
        raise SettingsError(f"{module}.{attribute} is not an executor; reinstall 'graphrag-dagster[{extra}]'")
    return executor


_EXECUTORS: dict[str, Callable[[], ExecutorDefinition]] = dict(
    zip(get_args(ExecutorName), (_in_process, _multiprocess, _ray, _kubernetes), strict=True)
)
