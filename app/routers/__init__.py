"""What the app answers, by path. Routers translate between HTTP and the services, no more."""
