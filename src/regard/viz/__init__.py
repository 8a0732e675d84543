"""Where a model looked, as a picture: no torch, and no model."""
