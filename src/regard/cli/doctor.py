"""`regard doctor`: what this installation has, which kernels run, and why."""

from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table

EXTRAS = {"matplotlib": "plots"}


def doctor() -> None:
    """Show devices, extras and which implementation of each op runs here."""
    import torch

    from regard import __version__
    from regard.kernels import CHOICES

    console = Console()
    console.print(
        f"regard {__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads"
    )
    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    console.print("devices: " + ", ".join(["CPU", *devices]))
    for package, extra in EXTRAS.items():
        console.print(f"{package}: {_installed(package, extra)}", markup=False)
    table = Table("op", "runs as", "because")
    for name, choice in CHOICES.items():
        table.add_row(name, choice.source, choice.reason)
    console.print(table)
    console.print("Next: regard --help", style="bold")


def _installed(package: str, extra: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"not installed; the extra [{extra}] would do"
