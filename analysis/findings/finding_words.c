/* What stands on a finding's card besides its sentences: headings, figures, and code to paste. */
#include "analysis/findings/finder.h"

static bool same(const char *a, const char *b) {
    return !word_is_before(a, b) && !word_is_before(b, a);
}

const char *kind_title(const char *kind) {
    static const struct wording titles[] = {
        {"out_of_memory", "Out of memory"}, // one in each line
        {"leak", "Leak"},
        {"growing_buffer", "Growing buffer"},
        {"gradients_kept", "Gradients not cleared"},
        {"held_over", "Kept too long"},
        {"fragmentation", "Fragmentation"},
        {"retry_flush", "Near miss"},
        {"cache_churn", "Cache emptied and refilled"},
        {"private_pool_held", "Private pool"},
        {"stops_at_peak", "Stops at its peak"},
        {"starts_late", "Starts late"},
        {"rank_odd", "Differs"},
        {"levels_rise", "Levels rise"},
        {"optimizer_temporaries", "Optimizer's temporaries"},
        {"unused_graph", "Unused graph"},
        {"autocast_copies", "Autocast's copies"},
        {"next_step_peak", "Next step's peak"},
        {"history_full", "Recording was full"},
        {"no_history", "No events recorded"},
    };
    for (uint32_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (same(titles[i].name, kind))
            return titles[i].title;
    return kind;
}

void finding_capitalize(char *title) {
    const char *end = title;
    while (*end >= 'a' && *end <= 'z')
        end++;
    if (end != title && *end == ' ')
        *title = (char)(*title - 'a' + 'A');
}

uint32_t finding_headline(const struct verdicts *verdicts, const struct finding *finding, char *text,
                          uint32_t capacity) {
    static const char kind[] = "out of memory: ";
    uint32_t length = finding_title(verdicts, finding, text, capacity), skipped = 0;
    struct text title = {(const uint8_t *)text, length < capacity ? length : capacity - 1};
    if (finding->kind == FINDING_OUT_OF_MEMORY && text_has_at(title, 0, kind))
        skipped = sizeof kind - 1;
    for (uint32_t i = 0; skipped != 0 && i + skipped <= title.nbytes; i++)
        text[i] = text[i + skipped];
    finding_capitalize(text);
    return length - skipped;
}

uint32_t finding_amount(const struct finding *finding, char *text, uint32_t capacity) {
    struct words words = {text, capacity, 0};
    bool grows = finding->kind == FINDING_LEAK || finding->kind == FINDING_GROWING_BUFFER ||
                 finding->kind == FINDING_LEVELS_RISE;
    text[0] = '\0';
    if (grows && finding->unit != UNIT_NONE && finding->kind == FINDING_LEAK &&
        finding->per_n != finding->leak.n_turns)
        WORDS_TELL(&words, "%n \xc3\x97 %b", finding->per_n, finding->per_bytes);
    else if (grows && finding->unit != UNIT_NONE) {
        WORDS_TELL(&words, "+%b a ", finding->per_bytes);
        words_say(&words, finding_unit_name[finding->unit]);
    } else if (finding_has_bytes(finding) && finding->bytes != 0)
        words_add_bytes(&words, finding->bytes);
    return words_end(&words);
}

uint32_t finding_code(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    static const char retained[] = "loss.backward()  # without retain_graph; or detach at %S";
    text[0] = '\0';
    switch (finding->kind) {
    case FINDING_LEAK:
        if (finding->variant == LEAK_OF_GRAPHS)
            tell(&telling, retained);
        else if (finding->severity != SEVERITY_INFO && finding->site != 0)
            tell(&telling, "value = value.detach().cpu()  # or value.item(), where %S is kept");
        break;
    case FINDING_GROWING_BUFFER:
        tell(&telling, "buffer = torch.empty(final_size, device=\"cuda\")  # once, before the loop");
        break;
    case FINDING_HELD_OVER:
        tell(&telling,
             finding->held.graph ? retained : "del output  # before the next forward: what %S made");
        break;
    case FINDING_GRADIENTS_KEPT:
        tell(&telling, "optimizer.step()\noptimizer.zero_grad(set_to_none=True)");
        break;
    case FINDING_UNUSED_GRAPH: tell(&telling, "with torch.no_grad():  # around %S"); break;
    case FINDING_OPTIMIZER_TEMPORARIES:
        if (finding->variant != WAY_OWN)
            tell(&telling, "fused=True  # an argument of the optimizer");
        break;
    case FINDING_AUTOCAST_COPIES:
        if (finding->variant != 1)
            tell(&telling, "torch.autocast(\"cuda\", cache_enabled=False)");
        break;
    case FINDING_PRIVATE_POOL_HELD: tell(&telling, "torch.cuda.graph(graph, pool=first_graph.pool())"); break;
    case FINDING_HISTORY_FULL:
        tell(&telling, "torch.cuda.memory._record_memory_history(max_entries=");
        words_number(&words, finding->figure[0] * 10);
        words_say(&words, ")");
        break;
    case FINDING_NO_HISTORY:
    case FINDING_STARTS_LATE:
        if (trace_has_segments(verdicts->timeline->trace))
            tell(&telling, "torch.cuda.memory._record_memory_history(max_entries=1000000)");
        break;
    default: break;
    }
    return words_end(&words);
}
