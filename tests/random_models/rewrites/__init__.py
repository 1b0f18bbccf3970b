"""Each pass of nnapi-cpu proven on its own: what it rewrites gives what the model gives without it.

    python -m tests.random_models.rewrites --acted 1000 --passes fuse_gelu

sketch.py: a model that is drawn, operation by operation. on_graphs.py, on_steps.py: for each pass
over graphs and over steps, what it looks for in random forms; products.py: the convolutions in
them; drawing.py: the model of a seed. variants.py: the same model with something changed that a
guard has to see. proof.py runs a model with a pass and without it, and says what has to agree.
mutations.py: guards that are taken away (mutating.py), which hunting.py has to find.
"""
