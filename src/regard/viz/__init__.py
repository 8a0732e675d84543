"""Pictures of attention, and the training report: no torch, and no model."""
