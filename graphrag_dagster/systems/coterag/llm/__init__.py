"""The steps of CoTeRAG-S by a model."""
