"""Operation: the supervisor of `melm up`, logs, metrics, and limits on computations and connections."""
