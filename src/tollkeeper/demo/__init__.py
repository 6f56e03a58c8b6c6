"""`tollkeeper demo`: a whole Tollkeeper on one machine, with stores of its own and a customer with a past."""
