"""``dragoman launch`` with programs that stand for the agents: they ask as the agents do, with what they were given."""
