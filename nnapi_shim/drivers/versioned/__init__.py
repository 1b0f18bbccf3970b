"""Adapters for devices written for HAL 1.0 or 1.1.

compliance.py determines the operations that an older HAL supports, slices.py extracts them from a
model, conversion.py converts models and requests to that HAL, and adapter.py is the device.
answer.py waits for drivers, which may misbehave. validate.py and memory.py are for authors of
drivers.
"""
