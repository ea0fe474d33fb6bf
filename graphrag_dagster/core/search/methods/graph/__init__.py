"""Answers by a router and two retrievers over the graph (fourth paper §III; spec_context_leiden §6)."""
