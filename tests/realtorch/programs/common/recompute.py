import sys


def checkpoint_first(layers):
    """Takes gradient checkpointing, which transformers turns on for all layers, off again but for the first so many: the last argument."""
    if sys.argv[-1].isdigit():
        for layer in layers[int(sys.argv[-1]):]:
            layer.gradient_checkpointing = False
