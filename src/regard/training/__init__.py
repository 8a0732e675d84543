"""Training: the loop, optimizer and schedule, checkpoints, resume, early stopping, reports."""
