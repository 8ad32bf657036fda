"""HTTP around the routes: middleware, errors, files, logs, and what routes are given."""
