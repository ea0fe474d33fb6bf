"""The pipeline: stages in order, each a function from input tables to output tables."""
