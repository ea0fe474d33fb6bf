"""One module per family of file formats; each reader turns bytes into records and never raises but
:class:`~graphrag_dagster.core.files.records.UnreadableError` and
:class:`~graphrag_dagster.core.files.records.RefusedError`.
"""
