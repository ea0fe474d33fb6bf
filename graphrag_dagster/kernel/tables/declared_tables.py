"""All tables that are declared, those of the systems included."""

from functools import cache

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, stages, systems
from graphrag_dagster.kernel.tables import KERNEL_TABLES, Table


@cache
def all_tables() -> tuple[Table, ...]:
    """Return the declarations of all tables, ordered by the stages that make them."""
    targets = (target for system in systems().values() for target in system.tables)
    declared = [*KERNEL_TABLES, *(table for target in targets for table in load_target(target))]
    order = {name: position for position, name in enumerate(stages())}
    # Kernel tables that no stage makes come last.
    return tuple(sorted(declared, key=lambda table: order.get(table.group, len(order))))


def declared_table(full_name: str) -> Table:
    """Return the declaration of ``schema.name``.

    Raises:
        WarehouseError: no such table is declared.
    """
    declared = next((table for table in all_tables() if table.full_name == full_name), None)
    if declared is None:
        names = ", ".join(sorted(table.full_name for table in all_tables()))
        raise WarehouseError(f"there is no table {full_name!r}; declared are {names}")
    return declared
