"""The HTTP service: datasets, fits and models, in front of the store and the workers."""
