"""The pages are true: their examples run, their links lead somewhere, their tables are those of the code."""
