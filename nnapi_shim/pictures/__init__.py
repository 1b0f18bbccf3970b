"""Pictures: of models as SVG and in Google's Model Explorer, of measurements with matplotlib.

They draw the reports of nnapi_shim.tools and measure nothing themselves.
"""
