"""What service and worker agree on, and all that the service may import from the worker."""
