"""Every way in which the library gets to its users, as they would go it."""
