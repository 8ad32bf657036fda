"""The web app around the models: HTTP and the command line, no maths."""

VERSION = "0.1.0"
