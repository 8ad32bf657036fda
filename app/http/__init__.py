"""HTTP around the routes: middleware, errors, files, logs and dependencies."""
