"""How Sphinx builds the site; `make site` runs it."""

from importlib.metadata import version as installed_version

project = "graphrag_dagster"
author = "The graphrag_dagster authors"
project_copyright = "The graphrag_dagster authors"
version = release = installed_version("graphrag-dagster")
html_title = f"graphrag_dagster {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# A word in `--help` may be in no lexer; that is no reason to fail.
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True

html_theme = "furo"
html_theme_options = {
    "source_repository": "https://github.com/graphrag-dagster/graphrag-dagster/",
    "source_branch": "main",
    "source_directory": "docs/",
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ea", "color-brand-content": "#7cc0ea"},
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"
