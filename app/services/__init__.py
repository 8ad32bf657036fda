"""What the app does. Nothing here knows of HTTP: the routers and the command line both call it."""
