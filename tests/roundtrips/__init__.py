"""Answers that come back in the next request, for every pair of dialects."""
