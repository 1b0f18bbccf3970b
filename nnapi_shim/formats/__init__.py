"""Models from and to files of other formats."""
