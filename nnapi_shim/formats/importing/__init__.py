"""Parts that the imports of all file formats share."""
