"""The official SDKs as clients of a gateway whose upstreams speak every dialect."""
