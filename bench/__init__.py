"""Measurements of speed and memory, as ratios against a rival in the same run."""
