"""The API, one folder per resource: the request (schema), the response (answer), the paths (route)."""
