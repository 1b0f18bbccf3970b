"""Adapters that let devices written for HAL 1.0 or 1.1 stand behind the canonical interface.

What comes here: the conversion of models, requests and results between hal/types.py and
hal/v1_0.py or hal/v1_1.py, the check of which operations a model may hand to such a device, and a
device of each version that does both.
"""
