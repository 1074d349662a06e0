"""Methods beside each other: scores of pictures and of pipelines, and a paired test."""
