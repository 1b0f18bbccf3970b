"""Each pass of nnapi-cpu on its own: models have the same results with and without it.

    python -m tests.random_models.rewrites --acted 1000 --passes fuse_gelu

sketch.py builds a random model, operation by operation. on_graphs.py, on_steps.py: random forms of
what each pass over graphs and over steps matches; products.py: the convolutions in them.
drawing.py: the model of a seed. variants.py: the same model with a change that a guard has to
notice. proof.py runs a model with a pass and without it and compares. mutations.py: guards that are
removed (mutating.py), which hunting.py has to find.
"""
