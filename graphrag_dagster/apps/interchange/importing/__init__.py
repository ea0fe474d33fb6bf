"""Importing graphs: read row by row, and made ready for the stages that follow."""
