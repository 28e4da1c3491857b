#include "analysis/findings/budget.h"

#include "analysis/findings/levels.h"

_Static_assert(NOTE_BUDGET_AVAILABLE - NOTE_BUDGET_TOTAL == BUDGET_AVAILABLE,
               "notes are in the order of parts");

const struct wording budget_label[BUDGET_PARTS] = {
    [BUDGET_TOTAL] = {"total", "The device has"},
    [BUDGET_USABLE] = {"usable", "The server may use"},
    [BUDGET_WEIGHTS] = {"weights", "Weights"},
    [BUDGET_ACTIVATIONS] = {"activations", "Activations, at most"},
    [BUDGET_KV_CACHE] = {"kv_cache", "KV cache"},
    [BUDGET_GRAPHS] = {"graphs", "CUDA graphs"},
    [BUDGET_NON_TORCH] = {"non_torch", "Outside of PyTorch"},
    [BUDGET_AVAILABLE] = {"available", "Free, as printed"}};

void budget_of(struct budget *budget, const struct device_trace *device) {
    *budget = (struct budget){0};
    for (uint32_t i = 0; i < device->n_notes; i++) {
        const struct note *note = &device->notes[i];
        if (note->what < NOTE_BUDGET_TOTAL || note->what > NOTE_BUDGET_AVAILABLE)
            continue;
        budget->bytes[note->what - NOTE_BUDGET_TOTAL] = note->number;
        budget->known |= 1u << (note->what - NOTE_BUDGET_TOTAL);
    }
}

bool budget_is_drawn(const struct device_trace *device) {
    struct budget budget;
    struct levels levels;
    budget_of(&budget, device);
    levels_find(&levels, device);
    return budget.known != 0 && levels.track[levels.shown].count == 0;
}
