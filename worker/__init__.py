"""Runs fits: the store, the engine that runs fits, and the Celery worker around it."""
