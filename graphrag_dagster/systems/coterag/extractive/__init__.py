"""The steps of CoTeRAG-S by rule, without a model."""
