"""Executions whose inputs another thread writes to while they run.

A device may answer with a result of either contents or of any mixture of them, or with the error
that contents out of range have; it may not crash, hang, raise what is no NnapiError, or give out
memory that is none of its inputs.
"""
