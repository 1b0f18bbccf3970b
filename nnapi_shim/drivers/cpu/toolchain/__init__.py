"""How kernels become machine code: the decorator, builds ahead of time, the JIT."""
