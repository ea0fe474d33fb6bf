"""Positions of the entities for drawing: communities lie apart, and positions are stable."""
