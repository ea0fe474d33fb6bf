"""Declarations of the tables, the interface between all parts of the pipeline.

They determine the DuckDB tables, the validation of every frame before it is written, the column schema shown
in Dagster, the blocking checks and the data dictionary. Every table begins with the column ``corpus``, which
the warehouse adds on writing and drops on reading.
"""
