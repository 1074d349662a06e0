"""The Cauchy-Schwarz divergence of projected classes, and what it is made of."""
