"""How fast is it? Each file here measures one thing, and prints a table."""
