"""What kernels are written in: vector code, micro-kernels, epilogues; it names no operation."""
