"""A small simulator of PyTorch's CUDA caching allocator and of the snapshots that it writes."""
