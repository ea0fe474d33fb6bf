"""One module per family of file formats; each reader turns bytes into records and never raises but
:class:`~graphrag_dagster.kernel.documents.file_records.UnreadableError` and
:class:`~graphrag_dagster.kernel.documents.file_records.RefusedError`.
"""
