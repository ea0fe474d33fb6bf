"""Thin Dagster: the assets, what automates them, and the definitions of code locations and components."""
