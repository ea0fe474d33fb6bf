"""Entities and relationships by two neural models that run on this machine: GLiNER and REBEL."""
