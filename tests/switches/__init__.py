"""Two threads at once, with a switch from one to the other at each instruction of Python.

What a thread does is run as often as it has instructions: each time it stops in front of another
one, until a second thread has done all of its work, and then goes on. So whatever one switch of
the interpreter can do is tried, and always in the same way.
"""
