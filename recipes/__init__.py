"""Settings that were tried on real data, and their runner."""
