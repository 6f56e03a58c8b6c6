"""prove-console: the customers' pages in a real browser, over a whole deployment."""
