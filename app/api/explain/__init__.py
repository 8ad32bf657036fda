"""Why a model answers as it does."""
