"""What the tensors of a trace mean: lenses, scores and counts, all computed from the model's numbers."""
