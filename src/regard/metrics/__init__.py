"""How good outputs are, by name and with the recipe: no torch, and no reading of files."""
