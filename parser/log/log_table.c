#include "parser/log/log_table.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

/* A form whose lines are told by words alone: all of `needs` stand in a line, and at least one figure does. */
struct log_form {
    const char *needs[2]; /* "": any */
    struct log_figure figures[5];
    bool host;
};

#define END \
    { NULL, BEHIND, 0, NOTE_LINE }

static const struct log_form forms[] = {
    /* vLLM: worker.py, gpu_worker.py, gpu_model_runner.py, of 0.4 to 0.11 */
    {{"the current vLLM instance can use total_gpu_memory", ""},
     {{"total_gpu_memory (", BEHIND, NOTE_BUDGET_TOTAL, 0}, {") = ", BEHIND, NOTE_BUDGET_USABLE, 0}, END},
     false},
    {{"the current vLLM instance can use", ""},
     {{"instance can use", BEHIND, NOTE_BUDGET_USABLE, 0}, END},
     false},
    {{"model weights take", ""},
     {{"model weights take", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
      {"non_torch_memory takes", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
      {"PyTorch activation peak memory takes", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
      {"reserved for KV Cache is", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
      END},
     false},
    {{"total_gpu_memory", ""}, {{"total_gpu_memory", BEHIND, NOTE_BUDGET_TOTAL, 0}, END}, false},
    {{"non_torch_memory", ""}, {{"non_torch_memory", BEHIND, NOTE_BUDGET_NON_TORCH, 0}, END}, false},
    {{"PyTorch activation peak memory", ""},
     {{"activation peak memory", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0}, END},
     false},
    {{"available_kv_cache_memory", ""},
     {{"available_kv_cache_memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0}, END},
     false},
    {{"Available KV cache memory", ""},
     {{"Available KV cache memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0}, END},
     false},
    {{"Loading model weights took", ""},
     {{"Loading model weights took", BEHIND, NOTE_BUDGET_WEIGHTS, 0}, END},
     false},
    {{"Model loading took", ""}, {{"Model loading took", BEHIND, NOTE_BUDGET_WEIGHTS, 0}, END}, false},
    {{"Graph capturing finished", ""}, {{"took", BEHIND, NOTE_BUDGET_GRAPHS, 0}, END}, false},
    /* SGLang: model_runner.py */
    {{"Load weight end", "mem usage="},
     {{"mem usage", BEHIND, NOTE_BUDGET_WEIGHTS, 0}, {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}, END},
     false},
    {{"Capture cuda graph end", "mem usage="},
     {{"mem usage", BEHIND, NOTE_BUDGET_GRAPHS, 0}, {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}, END},
     false},
    {{"Memory pool end", ""}, {{"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}, END}, false},
    {{"Init torch distributed ends", ""}, {{"mem usage", BEHIND, NOTE_BUDGET_NON_TORCH, 0}, END}, false},
    /* TensorRT-LLM: kvCacheManager.cpp */
    {{"for k/v cache", ""}, {{" for k/v cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0}, END}, false},
    {{"for max tokens in paged KV cache", ""},
     {{" for max tokens in paged KV cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0}, END},
     false},
    /* rocm-smi --showmeminfo vram; xpu-smi stats */
    {{"VRAM Total Used Memory (B)", ""}, {{"Used Memory (B)", BEHIND, NOTE_DEVICE_USED, 1}, END}, false},
    {{"VRAM Total Memory (B)", ""}, {{"Total Memory (B)", BEHIND, NOTE_DEVICE_TOTAL, 1}, END}, false},
    {{"GPU Memory Used (MiB)", ""}, {{"GPU Memory Used (MiB)", CELL, NOTE_DEVICE_USED, MIB}, END}, false},
    /* mlx-lm's tuner and generate: powers of ten */
    {{"Peak mem ", " GB"}, {{"Peak mem", DECIMAL, NOTE_MAX_ALLOCATED, 0}, END}, false},
    {{"Peak memory: ", "Generation"}, {{"Peak memory:", DECIMAL, NOTE_MAX_ALLOCATED, 0}, END}, false},
    /* Habana: optimum-habana's metrics, printed as a dict and as a table */
    {{"memory_allocated (GB)", ""},
     {{"max_memory_allocated (GB)", CELL, NOTE_MAX_ALLOCATED, GIB},
      {" memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
      {"'memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
      {"total_memory_available (GB)", CELL, NOTE_DEVICE_TOTAL, GIB},
      END},
     false},
    /* torchtitan: metrics.py */
    {{"memory allocation retries", ""},
     {{" memory allocation retries", COUNT_BEFORE, NOTE_RETRIES, 0}, END},
     false},
    /* /usr/bin/time -v; cgmemtime */
    {{"Maximum resident set size (kbytes)", ""}, {{"(kbytes):", BEHIND, NOTE_MAX_HOST, 1024}, END}, true},
    {{"child_RSS_high", ""}, {{"child_RSS_high", BEHIND, NOTE_MAX_HOST, 0}, END}, true},
    /* The kernel's report on a control group, before it kills */
    {{"memory: usage ", ", limit "},
     {{"memory: usage", BEHIND, NOTE_HOST_USED, 0}, {", limit", BEHIND, NOTE_HOST_LIMIT, 0}, END},
     true},
};

#undef END

/* "KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB" */
static bool sglang_cache(struct text line, struct log_row *row) {
    static const struct log_figure k = {"K size", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
                                   v = {"V size", BEHIND, NOTE_BUDGET_KV_CACHE, 0};
    uint64_t keys, values;
    if (!log_has(line, "KV Cache is allocated") || !log_figure_find(line, &k, &keys) ||
        !log_figure_find(line, &v, &values))
        return false;
    log_know(row, NOTE_BUDGET_KV_CACHE, keys + values);
    return true;
}

static void name_of_killed(struct text line, struct log_row *row) {
    uint32_t open = log_find(line, log_find(line, 0, "rocess "), "("), end;
    end = open != LOG_NONE ? log_find(line, open, ")") : LOG_NONE;
    struct text name = {(const uint8_t *)"a process", 9};
    if (end != LOG_NONE)
        name = (struct text){line.at + open + 1, end - open - 1};
    log_name_set(row->killed, name);
}

/* "Memory cgroup out of memory: Killed process 1234 (python) total-vm:9kB, anon-rss:8kB, ..." and the kernel's own. */
static bool kill_line(struct text line, struct log_row *row) {
    static const struct log_figure rss = {"anon-rss", BEHIND, NOTE_HOST_USED, 0};
    uint64_t nbytes;
    bool kernel = log_has(line, "ut of memory: Kill") || log_has(line, "Killed process ");
    if (!kernel || !log_figure_find(line, &rss, &nbytes))
        return false;
    log_know(row, NOTE_HOST_USED, nbytes);
    name_of_killed(line, row);
    row->gpu = LOG_HOST;
    row->is_oom = true;
    return true;
}

static void gpu_in_brackets(struct text line, struct log_row *row) {
    uint64_t number;
    uint32_t at = log_find(line, 0, "GPU[");
    if (at != LOG_NONE && log_count(line, at + 4, &number) != LOG_NONE)
        log_gpu_set(row, number);
}

enum log_seen log_table_line(struct log_state *state, struct text line, struct log_row *row) {
    (void)state;
    if (sglang_cache(line, row) || kill_line(line, row))
        return LOG_ROW;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct log_form *form = &forms[i];
        if (!log_has(line, form->needs[0]) || (form->needs[1][0] != '\0' && !log_has(line, form->needs[1])) ||
            log_figures_read(line, form->figures, row) == 0)
            continue;
        row->gpu = form->host ? LOG_HOST : row->gpu;
        gpu_in_brackets(line, row);
        log_maxima_show(row);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* ---- the tables of nvidia-smi and npu-smi: the device's number stands in the line before ---- */

/* "|   0  NVIDIA H100 80GB HBM3          On  |" */
static void table_gpu(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t next = log_count(line, log_skip(line, 1), &number);
    if (next != LOG_NONE && number < 65536 && next + 1 < line.nbytes && line.at[next] == ' ')
        stream->table_gpu = (int32_t)number;
}

enum log_seen log_smi_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t used, total;
    struct log_stream *stream = state->stream;
    uint32_t slash = LOG_NONE, at = log_skip(line, 0);
    if (at >= line.nbytes || line.at[at] != '|')
        return LOG_NOTHING;
    line = log_rest(line, at);
    bool npu = log_has(line, "| 0000:");
    for (uint32_t i = log_find(line, 0, " / "); i != LOG_NONE; i = log_find(line, i + 1, " / "))
        slash = i;
    bool sizes = slash != LOG_NONE && log_size_in(line, slash, npu ? MIB : 0, &used) &&
                 log_size(line, log_skip(line, slash + 3), npu ? MIB : 0, &total) != LOG_NONE &&
                 used <= total && total != 0;
    if (!sizes) {
        table_gpu(stream, line);
        return LOG_NOTHING;
    }
    log_know(row, NOTE_DEVICE_USED, used);
    log_know(row, NOTE_DEVICE_TOTAL, total);
    if (stream->table_gpu >= 0)
        row->gpu = stream->table_gpu;
    return LOG_ROW;
}
