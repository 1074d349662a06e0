"""Request bodies: limited in size, decoded (untrusted formats in a sandbox), checked, with errors that explain."""
