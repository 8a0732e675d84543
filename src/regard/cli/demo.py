"""`regard demo`: stub."""


def demo() -> None:
    """Show."""
