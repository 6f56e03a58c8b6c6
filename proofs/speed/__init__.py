"""What prove-speed is made of: a bare proxy beside the gateway, callers that cost little, and measuring."""
