"""prove-agents: real coding agents do a task through the gateway, and each of their calls is charged to the unit."""
