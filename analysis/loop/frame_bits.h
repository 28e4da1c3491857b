/* What a frame tells about its code, as bits: the vocabulary from which phases and categories are read. Both path
 * separators count as one; a profiler's "file.py(12): name" is split first. Freestanding. */
#pragma once

#include "trace/trace.h"

enum frame_bit {
    BIT_PYTHON = 1,
    BIT_NATIVE = 2,
    BIT_BACKWARD = 4,    /* autograd's engine, or Python that runs it or is run by it */
    BIT_ACCUMULATE = 8,  /* where autograd stores a gradient */
    BIT_KERNEL = 16,     /* a kernel with "backward" in its name: counts only if nothing else tells */
    BIT_OPTIMIZER = 32,  /* inside an optimizer's step */
    BIT_STATE = 64,      /* where an optimizer makes its state, its __init__ and load_state_dict included */
    BIT_FORWARD = 128,   /* forward() of a module, or a call of it */
    BIT_PARAMETER = 256, /* makes, moves or fills a module */
    BIT_INIT = 512,      /* any __init__ */
    BIT_DATA = 1024,     /* a data loader, or a function that makes a batch */
    BIT_HOST = 2048,     /* turns data of the host into a tensor, or makes one of random numbers */
    BIT_WORK = 4096,     /* a library's workspace, or room for what ranks exchange: not a tensor */
    /* for stacks only */
    BIT_OPTIMIZER_INSIDE = 8192, /* of the innermost frame of backward: a hook runs the optimizer */
    BIT_FORWARD_INSIDE = 16384,  /* of the innermost frame of an optimizer: a closure runs the model */
    /* for frames and stacks again */
    BIT_ZERO_GRAD = 1 << 15,  /* sets gradients to None */
    BIT_CAST = 1 << 16,       /* autocast makes a copy of a weight */
    BIT_FOREACH = 1 << 17,    /* an optimizer that handles all parameters at once */
    BIT_SINGLE = 1 << 18,     /* one that handles them one after the other */
    BIT_CACHE = 1 << 19,      /* a server's room for keys and values */
    BIT_GATHER = 1 << 20,     /* gathers parameters that ranks share */
    BIT_REDUCE = 1 << 21,     /* adds gradients over ranks, each of which keeps its part */
    BIT_NO_GRAD = 1 << 22,    /* a function decorated with no_grad, inference_mode or the like */
    BIT_CHECKPOINT = 1 << 23, /* activation checkpointing: nothing inside of it stays */
    /* for stacks only: a forward runs backward, so its end is no end of a step */
    BIT_BACKWARD_WITHIN = 1 << 24,
    BIT_LOAD = 1 << 25, /* reads tensors from a file: torch.load, safetensors */
    BIT_ROOT = 1 << 26  /* where a program or a thread of Python begins */
};

/* Fills the bits of every frame, `bits[frames.count]`. Each text is looked at once, however many frames have it.
 * O(frames + length of all texts). False: no memory. */
bool frames_bits(const struct trace *trace, uint32_t *bits, struct arena *arena);

/* Stores bits and ranks (layout/site.h) of all frames in a trace of several devices, for each of them to use. Call
 * it when texts and owners of frames no longer change. Memory of the trace, until it is released. False: no memory;
 * nothing is stored. */
bool frames_keep(struct trace *trace);

/* The bits of every stack are those of its frames: `bits[stacks.count]`. O(stacks). */
void stacks_bits(const struct trace *trace, const uint32_t *frame_bits, uint32_t *bits);
