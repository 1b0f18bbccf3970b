"""Devices: things that can run a model, behind the canonical interface of hal/interfaces.py."""
