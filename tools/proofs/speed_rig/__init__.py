"""The rig of prove-speed: a bare proxy beside the gateway, callers that cost little, and what is measured on both."""
