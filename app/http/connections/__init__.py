"""Limits on connections: what is refused before the app sees a request, and when connections are closed."""
