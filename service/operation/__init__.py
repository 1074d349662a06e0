"""What operators need: the supervisor of `melm up`, logs, metrics, and limits on work and connections."""
