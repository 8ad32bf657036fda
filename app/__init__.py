"""The web app around the models: HTTP and the command line, without maths."""

VERSION = "0.9.0"
