"""The web app around the models: HTTP and the command line, no maths."""
