"""Inputs of a plan of model calls."""
