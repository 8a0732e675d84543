"""Pictures that explain attention, drawn with regard's own modules: `python -m examples`."""
