"""Writes our models for other programs."""
