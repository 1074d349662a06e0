"""Runs fits: the Celery worker and the contract it shares with the service."""
