"""Runs fits: the store, the engine that moves fits, and the Celery worker around it."""
