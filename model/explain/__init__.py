"""What the tensors of a trace mean: contributions, lenses, scores and counts, all from the model's own numbers."""
