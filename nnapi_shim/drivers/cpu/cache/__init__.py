"""The compilation cache: compiled programs in files of the application's cache folder."""
