/*
 * What a frame says of the code that it is in, as bits: the vocabulary that phases and categories are read from. Both
 * kinds of path separator are one; a profiler's "file.py(12): name" is split first. Freestanding.
 */
#pragma once

#include "trace/trace.h"

enum frame_bit {
    BIT_PYTHON = 1,
    BIT_NATIVE = 2,
    BIT_BACKWARD = 4,   /* autograd's engine, or Python that runs it or is run by it */
    BIT_ACCUMULATE = 8, /* where autograd stores a gradient */
    BIT_KERNEL = 16, /* a kernel with "backward" in its name: tells something only where nothing else does */
    BIT_OPTIMIZER = 32,  /* inside of an optimizer's step */
    BIT_STATE = 64,      /* where an optimizer makes its state */
    BIT_FORWARD = 128,   /* forward() of a module, or its call */
    BIT_PARAMETER = 256, /* a module is made, moved or filled */
    BIT_INIT = 512,      /* some __init__ */
    BIT_DATA = 1024,     /* a data loader, or a function that makes a batch */
    BIT_HOST = 2048,     /* data of the host become a tensor */
    BIT_WORK = 4096,     /* a library's workspace, or room for what ranks exchange: no tensor is made */
    /* of stacks only */
    BIT_OPTIMIZER_INSIDE = 8192, /* of the innermost frame of backward: the optimizer is run by a hook */
    BIT_FORWARD_INSIDE = 16384,  /* of the innermost frame of an optimizer: the model is run by a closure */
    /* of frames and stacks again */
    BIT_ZERO_GRAD = 1 << 15, /* gradients are set to None */
    BIT_CAST = 1 << 16,      /* autocast makes a copy of a weight */
    BIT_FOREACH = 1 << 17,   /* an optimizer that works on all parameters at once */
    BIT_SINGLE = 1 << 18,    /* on one after the other */
    BIT_CACHE = 1 << 19,     /* a server makes room for keys and values */
    BIT_GATHER = 1 << 20,    /* parameters that ranks share out are gathered */
    BIT_REDUCE = 1 << 21     /* gradients are added over ranks, of which each keeps its part */
};

/* Bits of every frame into `bits[frames.count]`. Each text is looked at once, however many frames have it.
 * O(frames + length of all texts). False: no memory. */
bool frames_bits(const struct trace *trace, uint32_t *bits, struct arena *arena);

/* Keeps bits and ranks (layout/site.h) of all frames with a trace of several devices, so that each of them finds them there. To
 * be called when neither texts nor owners of frames change any more. Memory of the trace, until it is released. False: no
 * memory; nothing is kept. */
bool frames_keep(struct trace *trace);

/* Bits of every stack, which are those of its frames: `bits[stacks.count]`. O(stacks). */
void stacks_bits(const struct trace *trace, const uint32_t *frame_bits, uint32_t *bits);
