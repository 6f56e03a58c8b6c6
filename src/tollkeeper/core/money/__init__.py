"""Money: amounts, prices, quotes, charges, balances, lots and codes."""
