"""Sphinx's configuration. `make docs` builds the site; nothing in it is loaded from another host."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "melm"
author = "The melm developers"
copyright = "the melm developers, MIT license"
version = release = version_of("melm")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    # in docs/extensions
    "mathml",
    "card_reference",
    "http_reference",
]
exclude_patterns = ["requirements.txt", "extensions", "screenshots.py"]
suppress_warnings = ["config.cache"]  # sphinx-gallery has a function among its settings
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

default_role = "code"  # of single backticks in docstrings
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc has the types
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "",  # run all of them
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # a page whose tables load scripts from other hosts
    "min_reported_time": 0,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"melm {version}"
html_static_path = ["static"]
html_css_files = ["melm.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "melm"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
}
html_sidebars: dict[str, list[str]] = {page: [] for page in ("index", "quickstart", "tutorial", "operations")}
html_context = {"default_mode": "auto"}
