"""The test kit refuses what the real APIs refuse, and nothing else."""
