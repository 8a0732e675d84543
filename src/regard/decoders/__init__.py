"""Write the target word by word: each decoder starts, steps and unrolls by one contract."""
