"""A customer whose past makes every page worth looking at: for the demo, pictures, and whoever builds pages."""
