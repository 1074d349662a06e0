"""Objectives: the Cauchy-Schwarz divergence of projected classes, Renyi's entropy, and the log posterior."""
