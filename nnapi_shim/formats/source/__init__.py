"""Export of models as source code."""
