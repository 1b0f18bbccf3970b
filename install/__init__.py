"""Layout of installed files, and the packages that contain them."""
