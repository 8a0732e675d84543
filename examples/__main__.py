"""Draw every picture: `python -m examples --out FOLDER`."""

import argparse
from pathlib import Path

from examples import kernel_regression, positions, self_attention, why_sqrt


def main() -> None:
    """Draw the pictures, and print a caption for each."""
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    folder = parser.parse_args().out
    for example in (kernel_regression, self_attention, why_sqrt, positions):
        path = example.draw(folder)
        print(f"{path}\n  {example.CAPTION}\n")
    print("Next: open the pictures, then read docs/attention.md")


if __name__ == "__main__":
    main()
