"""What the app does. Nothing here knows of HTTP: the routes and the command line both call it."""
