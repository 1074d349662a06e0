"""The HTTP operations, one resource a file."""
