"""What prove-pool is made of: two nodes, ten provider accounts and their weather, steady callers, and a judge."""
