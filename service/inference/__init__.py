"""Transform, predict and score with cached models."""
