"""What holds for every pair of dialects because nothing is written for a pair."""
