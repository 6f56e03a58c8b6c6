"""The data plane: what happens to one call, from credentials to answer."""
