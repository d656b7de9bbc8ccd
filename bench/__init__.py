"""Measurements, never tests: what the library costs, on the machine at hand."""
