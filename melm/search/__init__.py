"""The search for the best projection: starts, their climb, the race between them, samples of large data."""
