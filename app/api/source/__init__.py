"""Our own source lines."""
