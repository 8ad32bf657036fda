"""Whether the server is well."""
