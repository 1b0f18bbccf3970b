"""Every resource that a run takes fails once: memory, threads, descriptors, writes of files."""
