"""One file for each target. `TARGET` is what the fuzzers look for."""
