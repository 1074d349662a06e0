"""Pictures of models: plots as SVG, and the report."""
