"""Adapters that let devices written for HAL 1.0 or 1.1 stand behind the canonical interface.

compliance.py says which operations an older HAL knows, slices.py cuts a model down to them,
conversion.py writes models and requests as that HAL does; adapter.py is the device that does all
of it. answer.py waits for drivers, which may do anything. For those who write drivers: validate.py
and memory.py.
"""
