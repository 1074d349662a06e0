"""The evidence for a fit: validation, stability, importance, the verdict, and the card that holds them."""
