"""The explorer page."""
