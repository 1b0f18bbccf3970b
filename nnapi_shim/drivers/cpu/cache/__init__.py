"""Compiled programs as files in the folder that the application names."""
