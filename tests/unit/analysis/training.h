/* Steps of a small training with stacks like PyTorch's: forward, backward with gradients, optimizer. */
#pragma once

#include "recording.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

enum { TRAINING_STEP = 100, PARAMETERS = 4 }; /* events of a step */

struct training {
    struct recording *recording;
    uint32_t forward, layer, backward, optimizer, cast;
};

static inline struct training training_make(struct recording *recording) {
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t forward = recording_stack(recording, main_, "/home/u/model.py", "forward");
    return (struct training){
        .recording = recording,
        .forward = forward,
        .layer = recording_stack(recording, forward, "/home/u/layer.py", "forward"),
        .backward = recording_stack(recording, main_, TORCH "autograd/graph.py", "_engine_run_backward"),
        .optimizer = recording_stack(recording, main_, TORCH "optim/adamw.py", "step"),
        .cast = recording_stack(recording, forward, "", "at::autocast::cached_cast(c10::ScalarType)"),
    };
}

/* The size of a parameter; all sizes differ. */
static inline uint64_t parameter_size(uint32_t i) {
    return (UINT64_C(64) << 10) * (i + 1);
}

/* Twelve activations, the gradients (which live until `kept` events after the step's begin), ten temporaries of backward, and
 * the optimizer's. */
static inline void training_step(const struct training *training, uint32_t begin, uint32_t kept) {
    struct recording *recording = training->recording;
    for (uint32_t i = 0; i < 12; i++)
        recording_allocation(recording, begin + i, begin + 40 - i, 1000 + i, training->forward);
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, begin + 15 + i, begin + kept + i, parameter_size(i),
                             training->backward);
    for (uint32_t i = 0; i < 10; i++)
        recording_allocation(recording, begin + 30 + i * 2, begin + 31 + i * 2, 2048, training->backward);
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, begin + 60 + i, begin + 70 + i, parameter_size(i),
                             training->optimizer);
}
