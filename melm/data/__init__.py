"""The training data in the form that the objective needs: labeled rows, their moments, whitened coordinates."""
