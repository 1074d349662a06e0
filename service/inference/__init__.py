"""Transform, predict and score: decoded models, and rows in and out."""
