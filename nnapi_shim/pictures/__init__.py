"""Pictures: of models as SVG and in Google's Model Explorer, of measurements with matplotlib.

They show what nnapi_shim.tools find out, and find out nothing themselves.
"""
