"""What follows from the taps of a run, computed only when it is asked for: shares, widths, effects."""
