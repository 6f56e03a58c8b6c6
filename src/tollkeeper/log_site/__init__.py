"""Where cleaned usage logs are published: a folder or an S3 bucket."""
