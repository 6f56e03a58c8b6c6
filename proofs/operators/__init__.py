"""prove-operators: the pages of staff and the operator API, over a whole deployment."""
