"""Every operator of the schema in its documented forms, next to LiteRT."""
