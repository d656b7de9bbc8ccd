"""The tools that the gateway runs itself: MCP servers and Python functions (design/streams.md, 12).

``connect`` makes a ``Toolbox`` of the settings; what a model may call and what came of a call is
``interface``. Needs the extra ``tools``.
"""
