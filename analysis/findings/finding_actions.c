/* The advice for each kind of finding: one sentence that begins with a verb. It ends the detail, and is printed
 * alone where only advice is wanted. */
#include "analysis/findings/finder.h"

static const char record_early[] =
    "Call torch.cuda.memory._record_memory_history(max_entries=1000000) before the model is made.";

static const char let_go[] = "Free it in the loop, or move it to the CPU (.cpu(), .item()).";
static const char let_go_of_graphs[] =
    "Call backward without retain_graph=True, keep tensors of an autograd.Function with "
    "ctx.save_for_backward, or detach what is carried on.";

static void tell_graph(struct telling *telling) {
    if (telling->finding->variant != 0) {
        tell(telling,
             "Run it under torch.inference_mode() (or torch.no_grad()) if nothing is trained with it.");
        return;
    }
    tell(telling, "If this is inference, run it under torch.inference_mode()");
    if (telling->finding->saves_known)
        TELL(telling, ": the peak would be about %b", telling_peak_left(telling));
    tell(telling, ". If a backward follows after the end of the recording, this is what it costs.");
}

static void tell_buffer(struct telling *telling) {
    tell(telling, "Call torch.cuda.memory._record_memory_history(max_entries=");
    words_number(telling->words, telling->finding->figure[0] * 10);
    tell(telling, "), or record fewer steps.");
}

static const char *temporaries_action(enum finding_way way) {
    switch (way) {
    case WAY_FOREACH:
        return "Make the optimizer with fused=True, or with foreach=False (slower): foreach makes "
               "temporaries for all parameters at once.";
    case WAY_SINGLE: return "Make the optimizer with fused=True.";
    default:
        return "Write the step in place (add_, addcdiv_, mul_) and free each parameter's temporaries before "
               "the next.";
    }
}

static const char *gradients_action(const struct finding *finding) {
    return finding->confidence == CONFIDENCE_POSSIBLE
               ? "Call optimizer.zero_grad(set_to_none=True) right after optimizer.step(), before the next "
                 "forward. If you accumulate gradients on purpose, this is what it costs."
               : "Call optimizer.zero_grad(set_to_none=True) right after optimizer.step(), before the next "
                 "forward.";
}

static const char *history_action(const struct finding *finding) {
    return finding->variant == 1
               ? "Start it with torch.cuda.memory._record_memory_history(max_entries=100000); "
                 "_record_memory_history(True) is the old form, which keeps no events."
               : "Call torch.cuda.memory._record_memory_history(max_entries=100000) before the model is "
                 "made.";
}

/* Advice for what the allocator did: what to change, or to record to learn more. */
static const char *allocator_action(const struct finding *finding) {
    switch (finding->kind) {
    case FINDING_RETRY_FLUSH:
        return finding->variant == 0 ? "Lower the peak: strata plan says which changes are enough."
                                     : "Record a snapshot to see what made the requests.";
    case FINDING_CACHE_CHURN:
        return "Take torch.cuda.empty_cache() out of the loop; if nothing calls it, lower the peak.";
    case FINDING_FRAGMENTATION:
        return "Run strata plan: it says what other allocator settings would have reserved, such as "
               "expandable_segments.";
    default:
        return "Let the graphs share one pool (the argument pool of torch.cuda.graph): they need less then.";
    }
}

/* NULL: no advice, or one with figures. */
static const char *action_of(const struct telling *telling) {
    const struct finding *finding = telling->finding;
    bool snapshot = trace_has_segments(telling->verdicts->timeline->trace);
    switch (finding->kind) {
    case FINDING_LEAK: return finding->variant == LEAK_OF_GRAPHS ? let_go_of_graphs : let_go;
    case FINDING_GROWING_BUFFER: return "Make the buffer once, in its final size, and write into it.";
    case FINDING_HELD_OVER:
        return finding->held.graph
                   ? let_go_of_graphs
                   : "Delete the old result (del) before the model is called again, or keep only what you "
                     "need of "
                     "it (.item(), .detach()).";
    case FINDING_GRADIENTS_KEPT: return gradients_action(finding);
    case FINDING_OPTIMIZER_TEMPORARIES: return temporaries_action((enum finding_way)finding->variant);
    case FINDING_NEXT_STEP_PEAK:
        return "Plan for that figure, not for the recorded peak; record two steps to see it.";
    case FINDING_AUTOCAST_COPIES:
        return finding->variant == 1
                   ? NULL
                   : "Load the model in 16 bits (model.to(torch.bfloat16)) where nothing is trained, or "
                     "call autocast with cache_enabled=False.";
    case FINDING_RETRY_FLUSH:
    case FINDING_CACHE_CHURN:
    case FINDING_FRAGMENTATION:
    case FINDING_PRIVATE_POOL_HELD: return allocator_action(finding);
    case FINDING_LEVELS_RISE:
        return "Record a snapshot over a few steps: a log does not say which line of code keeps it.";
    case FINDING_STOPS_AT_PEAK:
        return finding->variant == 0 ? "Dump after a step is complete, or in an out-of-memory observer."
                                     : NULL;
    case FINDING_NO_HISTORY: return history_action(finding);
    case FINDING_STARTS_LATE: return snapshot ? record_early : "Begin the profile before the model is made.";
    default: return NULL;
    }
}

void tell_action(struct telling *telling) {
    const char *action = action_of(telling);
    if (telling->finding->kind == FINDING_UNUSED_GRAPH)
        tell_graph(telling);
    else if (telling->finding->kind == FINDING_HISTORY_FULL)
        tell_buffer(telling);
    else if (action != NULL)
        tell(telling, action);
}
