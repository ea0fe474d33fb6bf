"""The catalogue: stages, tasks, engines, embedders and search methods, each declared once, as data. Jobs,
automation, status, publishing, planning, settings, the command line, servers, reports and the documentation
are derived from it. To add a system, declare it here and give it its own package.
"""
