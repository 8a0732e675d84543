"""Every setting once: frozen dataclasses, each field with its default and its documentation."""
