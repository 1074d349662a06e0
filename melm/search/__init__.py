"""The search for the best projection: starts, their climbs, the race between them, samples of large datasets."""
