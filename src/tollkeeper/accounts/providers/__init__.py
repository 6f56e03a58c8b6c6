"""Provider accounts as staff describe them, and how one is doing in words."""
