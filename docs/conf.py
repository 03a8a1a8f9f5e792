"""Sphinx: furo over MyST. The pages of docs/reference are written by tools/render_reference.py before a build."""

project = "Counterfoil"
author = "The Counterfoil authors"
copyright = "The Counterfoil authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site"]
html_theme = "furo"
html_title = "Counterfoil"
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
# Blocks of tables without a header, and schemas, are read by people only.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
