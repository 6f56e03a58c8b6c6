"""What prove-limits is made of: deployments of two nodes, callers that press, and a judge of what was admitted when."""
