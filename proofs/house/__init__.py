"""What prove-house is made of: keys among a million accounts, and what is counted on the code."""
