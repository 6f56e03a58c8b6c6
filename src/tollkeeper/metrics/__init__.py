"""What the processes count of themselves, and the port where Prometheus asks for it. No content, no customer."""
