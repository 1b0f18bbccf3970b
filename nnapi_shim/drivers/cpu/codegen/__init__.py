"""Code generation for kernels: vector code, micro-kernels, epilogues; it names no operation."""
