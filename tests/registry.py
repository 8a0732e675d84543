"""The registry of extensions, as it was before a test."""

from contextlib import contextmanager

from regard import extensions


@contextmanager
def restored():
    """Forget what is registered inside; what comes with regard is registered before."""
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
