"""The control plane's use-cases: what operators and customers do to accounts, keys and the catalog."""
