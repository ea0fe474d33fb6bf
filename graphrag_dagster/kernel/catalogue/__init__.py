"""What there is, declared once: stages, tasks, engines, embedders and ways of answering.

Data without logic. Jobs, automation, status, publishing, planning, settings, command line, servers, reports
and documentation are derived from it; whoever adds a system declares it here and builds a room of its own.
"""
