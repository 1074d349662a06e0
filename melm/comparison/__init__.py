"""Comparison of methods: scores of pictures and of pipelines, and a paired test."""
