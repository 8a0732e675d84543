"""Settings that were tried on real data, and what runs them."""
