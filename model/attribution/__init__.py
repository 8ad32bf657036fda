"""Where an output comes from: contributions, their rollout over layers, effects of knockouts, gradients."""
