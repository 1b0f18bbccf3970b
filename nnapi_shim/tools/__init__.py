"""Answers to questions about models and devices, as data: one module for each question.

Functions take a finished model, and return dataclasses that hold every number they found; nothing
here prints.
"""
