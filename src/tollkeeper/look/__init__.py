"""What the pages of the console and those of the gateway share: languages, and figures as people read them."""
