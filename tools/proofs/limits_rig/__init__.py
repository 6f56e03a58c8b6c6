"""The rig of prove-limits: deployments of two nodes, callers that press, and a judge of what was admitted when."""
