"""Positions of the entities for drawing, where communities lie apart and stay where they were."""
