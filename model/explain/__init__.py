"""What the tensors of a trace mean: contributions, lenses, scores and counts, all made of the model's own numbers."""
