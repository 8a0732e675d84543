"""Teach a model: the loop, its loss, schedule and optimizer, the state it can go on from."""
