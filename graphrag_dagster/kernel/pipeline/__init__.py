"""The pipeline: its stages in order, each one function from the tables it reads to those it makes."""
