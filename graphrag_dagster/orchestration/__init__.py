"""Thin Dagster layer: assets, automation, and the definitions of code locations and components."""
