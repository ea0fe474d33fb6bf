"""Graphs that come from elsewhere: taken in, row by row, and made ready for the stages that follow."""
