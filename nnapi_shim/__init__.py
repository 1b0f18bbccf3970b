"""Android's Neural Networks API as a library for desktop Linux."""

__version__ = "0.1.0"
