"""Mail that leaves by SMTP."""
