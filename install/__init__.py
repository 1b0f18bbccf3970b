"""Where things lie once they are installed, and the packages that hold them."""
