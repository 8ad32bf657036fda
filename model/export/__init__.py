"""Exports our models to other libraries."""
