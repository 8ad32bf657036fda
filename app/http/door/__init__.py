"""The server's door: what is refused before the app sees a request, and which connections stay open."""
