"""Programs that nobody here wrote, run through a real gateway (``make clients``, and a few of them in every run of CI)."""
