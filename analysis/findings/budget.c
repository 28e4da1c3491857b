#include "analysis/findings/budget.h"

#include "analysis/findings/levels.h"

static const enum note_what notes[BUDGET_PARTS] = {[BUDGET_TOTAL] = NOTE_BUDGET_TOTAL,
                                                   [BUDGET_USABLE] = NOTE_BUDGET_USABLE,
                                                   [BUDGET_WEIGHTS] = NOTE_BUDGET_WEIGHTS,
                                                   [BUDGET_ACTIVATIONS] = NOTE_BUDGET_ACTIVATIONS,
                                                   [BUDGET_KV_CACHE] = NOTE_BUDGET_KV_CACHE,
                                                   [BUDGET_GRAPHS] = NOTE_BUDGET_GRAPHS,
                                                   [BUDGET_NON_TORCH] = NOTE_BUDGET_NON_TORCH,
                                                   [BUDGET_AVAILABLE] = NOTE_BUDGET_AVAILABLE,
                                                   [BUDGET_GRAPHS_PLANNED] = NOTE_BUDGET_GRAPHS_PLANNED,
                                                   [BUDGET_SLEEP] = NOTE_BUDGET_SLEEP,
                                                   [BUDGET_TOKENS] = NOTE_BUDGET_TOKENS};

const struct wording budget_label[BUDGET_PARTS] = {
    [BUDGET_TOTAL] = {"total", "The device has"},
    [BUDGET_USABLE] = {"usable", "The server may use"},
    [BUDGET_WEIGHTS] = {"weights", "Weights"},
    [BUDGET_ACTIVATIONS] = {"activations", "Activations, at most"},
    [BUDGET_KV_CACHE] = {"kv_cache", "KV cache"},
    [BUDGET_GRAPHS] = {"graphs", "CUDA graphs"},
    [BUDGET_NON_TORCH] = {"non_torch", "Outside of PyTorch"},
    [BUDGET_AVAILABLE] = {"available", "Free, as printed"},
    [BUDGET_GRAPHS_PLANNED] = {"graphs_planned", "CUDA graphs, by the estimate before"},
    [BUDGET_SLEEP] = {"sleep", "Freed by sleep mode"},
    [BUDGET_TOKENS] = {"tokens", "Tokens in the KV cache"}};

void budget_of(struct budget *budget, const struct device_trace *device) {
    *budget = (struct budget){0};
    for (uint32_t i = 0; i < device->n_notes; i++)
        for (unsigned part = 0; part < BUDGET_PARTS; part++)
            if (device->notes[i].what == notes[part]) {
                budget->bytes[part] = device->notes[i].number;
                budget->known |= 1u << part;
            }
}

bool budget_is_drawn(const struct device_trace *device) {
    struct budget budget;
    struct levels levels;
    budget_of(&budget, device);
    levels_find(&levels, device);
    return budget.known != 0 && levels.track[levels.shown].count == 0;
}
