"""The documentation site: ``python -m tools.site`` (``make docs``)."""
