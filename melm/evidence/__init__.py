"""What a fit says about itself: validation, stability, importance, and the model's card."""
