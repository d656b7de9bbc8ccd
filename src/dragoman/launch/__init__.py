"""``dragoman launch``: an agent with its traffic on the gateway, by environment and one-shot options alone.

``agents`` is the table of them, ``gateway`` finds a gateway or starts one, ``model`` chooses what the
agent is told, ``run`` lets it have the terminal, ``command`` puts these together.
"""
