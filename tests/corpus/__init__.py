"""Every recorded answer, for every client, in every cut."""
