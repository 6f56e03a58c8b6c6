"""What prove-faults is made of: callers that read raw bytes, tables of what must come of each fault, and a judge."""
