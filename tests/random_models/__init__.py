"""Random models, and a comparison that finds where the devices disagree about them.

    python -m tests.random_models --seeds 0:20000

graph.py: what a random model is, and how it becomes a model of the HAL. generator.py draws one
operation after the other, from the examples of tests/operations; glue.py adapts tensors to each
other; control_flow.py puts small graphs into IF and WHILE; edges.py makes the contents that
`--special` asks for. running.py runs a model, comparison.py says what has to agree, closeness.py
how well, leeway.py what is left open at the edges. real_numbers.py checks quantized results against
real numbers, minimise.py drops the operations that a failure does not need.
"""
