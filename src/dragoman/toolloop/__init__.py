"""Tools that the gateway runs: the loop of answers and results behind one client answer. No IO.

``offer`` adds the gateway's tools to a request, ``loop`` follows the turns and says what to do next,
``past`` puts back what a client's history cannot hold. Source: design/streams.md, 12.
"""
