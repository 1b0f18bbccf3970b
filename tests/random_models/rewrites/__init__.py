"""Each pass of nnapi-cpu proven on its own: what it rewrites gives what the model gives without it.

    python -m tests.random_models.rewrites --models 1000 --passes fuse_gelu

sketch.py: a model that is drawn, operation by operation. idioms.py: for each pass, what it looks for
in random forms (on_graphs.py for passes over graphs, on_steps.py for those over steps). variants.py:
the same model with something changed that a guard has to see. proof.py runs a model with a pass and
without it, and says what has to agree. mutations.py: guards that are taken away, which has to be
found.
"""
