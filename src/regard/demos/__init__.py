"""Small tasks that a laptop learns while one looks on: data and settings, nothing printed."""
