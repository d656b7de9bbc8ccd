"""What holds whatever comes: one target for each reader of bytes that strangers write.

``targets`` names them; the first line of each is its promise. ``corpus/<target>`` keeps the inputs that once broke
one, and a few that reach far. As tests they run with mutations from fixed seeds; ``make fuzz`` goes on searching.
"""
