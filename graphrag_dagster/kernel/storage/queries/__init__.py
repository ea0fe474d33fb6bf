"""Guarded queries of users, each in a process that is stopped at its limits."""
