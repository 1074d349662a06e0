"""From a file to a table: dialects, column roles, and the encoding of columns as numbers."""
