"""Audio files: how long they are. Read in processes of their own, since files come from strangers."""
