"""The training data as the objective wants them: labeled rows, their moments, whitened coordinates."""
