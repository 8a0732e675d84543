"""Small tasks that a laptop learns in minutes: data and settings, nothing printed."""
