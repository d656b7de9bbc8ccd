"""What holds for whatever an upstream sends, and whatever an answer says."""
