"""Restore the registry of extensions after a test."""

from contextlib import contextmanager

from regard import extensions


@contextmanager
def restored():
    """Remove extensions that are registered inside; those of regard are registered before."""
    for kind, shipped in extensions.SHIPPED.items():
        for name in shipped:
            extensions.find(kind, name)
    kinds = {kind: dict(known) for kind, known in extensions._extensions.items()}
    configs = dict(extensions.decoder_configs)
    try:
        yield
    finally:
        extensions._extensions.clear()
        extensions._extensions.update(kinds)
        extensions.decoder_configs.clear()
        extensions.decoder_configs.update(configs)
