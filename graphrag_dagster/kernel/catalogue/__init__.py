"""The catalogue: stages, tasks, engines, embedders and search methods, each declared once. Data without
logic. Jobs, automation, status, publishing, planning, settings, command line, servers, reports and
documentation are derived from it; whoever adds a system declares it here and builds a room of its own.
"""
