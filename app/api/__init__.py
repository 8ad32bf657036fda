"""The API, a folder for each resource: what may be asked (schema), what comes back (answer), its paths (route)."""
