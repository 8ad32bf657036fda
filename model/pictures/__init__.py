"""Models that read pictures: a patch is a token (`picture.py`)."""
