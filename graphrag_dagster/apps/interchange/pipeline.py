"""The step of imports."""

from graphrag_dagster.apps.interchange.importing.step import imports
from graphrag_dagster.kernel.pipeline.step import Step
from graphrag_dagster.kernel.tables import (
    IMPORT_ACCOUNT,
    IMPORT_QUARANTINE,
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
    IMPORTED_TEXT_UNITS,
)

STEPS = (
    Step(
        "imports",
        imports,
        assets=dict.fromkeys((IMPORTED_FILES, IMPORTED_ENTITIES, IMPORTED_RELATIONS, IMPORT_ACCOUNT), ()),
        beside=(
            *(IMPORTED_DOCUMENTS, IMPORTED_TEXT_UNITS, IMPORTED_CLAIMS),
            *(IMPORTED_COMMUNITIES, IMPORTED_REPORTS, IMPORT_QUARANTINE),
        ),
    ),
)
