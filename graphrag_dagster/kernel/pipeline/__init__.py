"""The pipeline: its stages in order, each a function from the tables it reads to the tables it makes."""
