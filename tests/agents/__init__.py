"""What real agents ask, on upstreams that speak another dialect: what the pages of ``docs/agents`` say of it holds."""
