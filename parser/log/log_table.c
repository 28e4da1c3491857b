#include "parser/log/log_table.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

/* A form whose lines are told by words alone: all of `needs` stand in a line, and at least one figure does. */
struct log_form {
    const char *needs[2]; /* "": any */
    struct log_figure figures[8];
    bool host;
};

/* A form of one figure, whose words are all that tells it. */
#define ONE(words, place, what, unit) \
    { {words, ""}, {{words, place, what, unit}}, false }

static const struct log_form forms[] = {
    /* vLLM: worker.py, gpu_worker.py, gpu_model_runner.py, utils.py, of 0.4 to 0.12 */
    {{"the current vLLM instance can use total_gpu_memory", ""},
     {{"total_gpu_memory (", BEHIND, NOTE_BUDGET_TOTAL, 0}, {") = ", BEHIND, NOTE_BUDGET_USABLE, 0}},
     false},
    ONE("the current vLLM instance can use", BEHIND, NOTE_BUDGET_USABLE, 0),
    {{"model weights take", ""},
     {{"model weights take", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
      {"non_torch_memory takes", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
      {"PyTorch activation peak memory takes", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
      {"reserved for KV Cache is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}},
     false},
    {{"Free memory on device", "is less than desired"},
     {{"Free memory on device", TOTAL_OF, NOTE_BUDGET_TOTAL, 0},
      {"Free memory on device", USED_OF, NOTE_BUDGET_AVAILABLE, 0},
      {"desired GPU memory utilization", TOTAL_OF, NOTE_BUDGET_USABLE, 0}},
     false},
    {{"Free memory on device", " on startup"},
     {{"Free memory on device", TOTAL_OF, NOTE_BUDGET_TOTAL, 0},
      {"GPU memory utilization is", TOTAL_OF, NOTE_BUDGET_USABLE, 0},
      {" for weight", BEFORE, NOTE_BUDGET_WEIGHTS, 0},
      {" for peak activation", BEFORE, NOTE_BUDGET_ACTIVATIONS, 0},
      {" for non-torch memory", BEFORE, NOTE_BUDGET_NON_TORCH, 0},
      {" for CUDAGraph memory", BEFORE, NOTE_BUDGET_GRAPHS, 0},
      {"Current kv cache memory in use is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}},
     false},
    {{"Total non KV cache memory", ""},
     {{"torch peak memory increase:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
      {"non-torch forward increase memory:", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
      {"weights memory:", BEHIND, NOTE_BUDGET_WEIGHTS, 0}},
     false},
    ONE("total_gpu_memory", BEHIND, NOTE_BUDGET_TOTAL, 0),
    ONE("non_torch_memory", BEHIND, NOTE_BUDGET_NON_TORCH, 0),
    ONE("PyTorch activation peak memory", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0),
    ONE("available_kv_cache_memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Available KV cache memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("available KV cache memory (", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Loading model weights took", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE("Model loading took", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    {{"Graph capturing finished", ""}, {{"took", BEHIND, NOTE_BUDGET_GRAPHS, 0}}, false},
    /* SGLang: model_runner.py */
    {{"Load weight end", "mem usage="},
     {{"mem usage", BEHIND, NOTE_BUDGET_WEIGHTS, 0}, {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}},
     false},
    {{"Capture cuda graph end", "mem usage="},
     {{"mem usage", BEHIND, NOTE_BUDGET_GRAPHS, 0}, {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}},
     false},
    {{"Memory pool end", ""}, {{"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}}, false},
    ONE("available_gpu_mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0),
    {{"Init torch distributed ends", ""}, {{"mem usage", BEHIND, NOTE_BUDGET_NON_TORCH, 0}}, false},
    /* TensorRT-LLM: kvCacheManager.cpp, runtime of TensorRT, _torch/pyexecutor/_util.py */
    ONE(" for k/v cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0),
    ONE(" for max tokens in paged KV cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Loaded engine size:", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE(" for execution context memory", BEFORE, NOTE_BUDGET_ACTIVATIONS, 0),
    {{"Memory usage when calculating max tokens in paged kv cache", ""},
     {{"total:", BEHIND, NOTE_BUDGET_TOTAL, 0}, {"available:", BEHIND, NOTE_BUDGET_AVAILABLE, 0}},
     false},
    {{"when calculating max tokens:", ""},
     {{"when calculating max tokens:", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
      {"device total memory", BEHIND, NOTE_BUDGET_TOTAL, 0}},
     false},
    {{"Memory used after loading model weights (inside torch)", ""},
     {{"profiling:", BEHIND, NOTE_BUDGET_WEIGHTS, 0}},
     false},
    {{"Memory dynamically allocated during inference (inside torch)", ""},
     {{"profiling:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0}},
     false},
    {{"Memory used outside torch", ""}, {{"profiling:", BEHIND, NOTE_BUDGET_NON_TORCH, 0}}, false},
    /* text-generation-inference: flash_causal_lm.py; powers of ten */
    {{"Free memory ", "(real:"}, {{"Free memory ", DECIMAL, NOTE_BUDGET_AVAILABLE, 0}}, false},
    /* rocm-smi --showmeminfo vram; xpu-smi stats */
    {{"VRAM Total Used Memory (B)", ""}, {{"Used Memory (B)", BEHIND, NOTE_DEVICE_USED, 1}}, false},
    {{"VRAM Total Memory (B)", ""}, {{"Total Memory (B)", BEHIND, NOTE_DEVICE_TOTAL, 1}}, false},
    ONE("GPU Memory Used (MiB)", CELL, NOTE_DEVICE_USED, MIB),
    /* mlx-lm's tuner and generate: powers of ten */
    {{"Peak mem ", " GB"}, {{"Peak mem", DECIMAL, NOTE_MAX_ALLOCATED, 0}}, false},
    {{"Peak memory: ", "Generation"}, {{"Peak memory:", DECIMAL, NOTE_MAX_ALLOCATED, 0}}, false},
    /* Habana: optimum-habana's metrics, printed as a dict and as a table */
    {{"memory_allocated (GB)", ""},
     {{"max_memory_allocated (GB)", CELL, NOTE_MAX_ALLOCATED, GIB},
      {" memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
      {"'memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
      {"total_memory_available (GB)", CELL, NOTE_DEVICE_TOTAL, GIB}},
     false},
    /* verl: verl/utils/debug/performance.py, log_gpu_memory_usage */
    {{"memory allocated (GB)", "memory reserved (GB)"},
     {{"memory allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
      {"memory reserved (GB)", CELL, NOTE_RESERVED, GIB},
      {"device memory used/total (GB):", USED_OF, NOTE_DEVICE_USED, GIB},
      {"device memory used/total (GB):", TOTAL_OF, NOTE_DEVICE_TOTAL, GIB}},
     false},
    /* Megatron-Bridge: report_memory of train_utils.py; Composer: memory_monitor.py; powers of ten */
    {{"mem-", "-gigabytes"},
     {{"mem-allocated-gigabytes", DECIMAL, NOTE_ALLOCATED, GB},
      {"mem-max-allocated-gigabytes", DECIMAL, NOTE_MAX_ALLOCATED, GB},
      {"mem-reserved-gigabytes", DECIMAL, NOTE_RESERVED, GB},
      {"mem-max-reserved-gigabytes", DECIMAL, NOTE_MAX_RESERVED, GB},
      {"mem-alloc-retires", COUNTED, NOTE_RETRIES, 0}},
     false},
    {{"memory/current_allocated_mem", ""}, {{"_mem", DECIMAL, NOTE_ALLOCATED, GB}}, false},
    {{"memory/peak_allocated_mem", ""}, {{"_mem", DECIMAL, NOTE_MAX_ALLOCATED, GB}}, false},
    {{"memory/current_reserved_mem", ""}, {{"_mem", DECIMAL, NOTE_RESERVED, GB}}, false},
    {{"memory/peak_reserved_mem", ""}, {{"_mem", DECIMAL, NOTE_MAX_RESERVED, GB}}, false},
    /* NeMo: megatron_base_model.py with NEMO_LOG_MEMORY_USAGE, whose peak is of what is reserved */
    {{"peak_memory_usage", "global_step"},
     {{"peak_memory_usage", CELL, NOTE_MAX_RESERVED, 1}, {"memory_allocated", CELL, NOTE_ALLOCATED, 1}},
     false},
    /* memory_stats() of PyTorch, printed by itself or by Lightning's DeviceStatsMonitor */
    {{"_bytes.all.", ""},
     {{"allocated_bytes.all.current", PAGES, NOTE_ALLOCATED, 1},
      {"allocated_bytes.all.peak", PAGES, NOTE_MAX_ALLOCATED, 1},
      {"reserved_bytes.all.current", PAGES, NOTE_RESERVED, 1},
      {"reserved_bytes.all.peak", PAGES, NOTE_MAX_RESERVED, 1}},
     false},
    /* Colossal-AI: examples' get_mem_info, which prints memory_allocated(), and benchmarks */
    {{"GPU memory usage:", "CPU memory usage:"}, {{"GPU memory usage:", BEHIND, NOTE_ALLOCATED, 0}}, false},
    ONE("Max CUDA memory usage:", BEHIND, NOTE_MAX_ALLOCATED, 0),
    /* Lightning's CUDACallback of its examples; Unsloth's notebooks */
    ONE("Average Peak memory", BEHIND, NOTE_MAX_ALLOCATED, 0),
    {{"Max memory = ", ""}, {{"Max memory = ", BEHIND, NOTE_DEVICE_TOTAL, 0}}, false},
    ONE(" of memory reserved.", BEFORE, NOTE_RESERVED, 0),
    ONE("Peak reserved memory = ", BEHIND, NOTE_MAX_RESERVED, 0),
    /* torchtune: get_memory_stats, in GiB; mmengine, Detectron2, Swin: their loggers, in MiB */
    {{"peak_memory_alloc:", "peak_memory_reserved:"},
     {{"peak_memory_alloc:", BEHIND, NOTE_MAX_ALLOCATED, GIB},
      {"peak_memory_reserved:", BEHIND, NOTE_MAX_RESERVED, GIB}},
     false},
    {{"data_time:", " memory: "}, {{" memory: ", BEHIND, NOTE_MAX_ALLOCATED, MIB}}, false},
    {{"time:", "max_mem:"}, {{"max_mem:", BEHIND, NOTE_MAX_ALLOCATED, 0}}, false},
    {{"grad_norm", "mem "}, {{"mem ", BEHIND, NOTE_MAX_ALLOCATED, 0}}, false},
    /* torchtitan: metrics.py */
    ONE(" memory allocation retries", COUNT_BEFORE, NOTE_RETRIES, 0),
    ONE(" OOM errors thrown", COUNT_BEFORE, NOTE_OOM_COUNT, 0),
    {{" capacity: ", " memory"}, {{" memory", BEFORE, NOTE_DEVICE_TOTAL, 0}}, false},
    {{" capacity, ", " in-use"},
     {{" capacity", BEFORE, NOTE_DEVICE_TOTAL, 0}, {" in-use", BEFORE, NOTE_DEVICE_USED, 0}},
     false},
    /* GNU time -v, and without a format; cgmemtime */
    {{"Maximum resident set size (kbytes)", ""}, {{"(kbytes):", BEHIND, NOTE_MAX_HOST, 1024}}, true},
    {{"avgdata ", "maxresident)k"}, {{"maxresident)k", NUMBER_BEFORE, NOTE_MAX_HOST, 1024}}, true},
    {{"child_RSS_high", ""}, {{"child_RSS_high", BEHIND, NOTE_MAX_HOST, 0}}, true},
    /* Ray's monitor, before it kills */
    {{"Memory on the node", "exceeds the memory usage threshold"},
     {{") was running was", BEHIND, NOTE_HOST_USED, 0}},
     true},
    /* The kernel's report on a control group, before it kills */
    {{"] memory: usage ", ", limit "},
     {{"memory: usage", BEHIND, NOTE_HOST_USED, 0}, {", limit", BEHIND, NOTE_HOST_LIMIT, 0}},
     true},
};

#undef ONE

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

/* What Kubernetes, containerd, Slurm and systemd say of such a kill: it has no figures, and counts where no other line told
 * of one. */
static bool kill_word(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const words[] = {"OOMKilled",
                                        "oom-kill event",
                                        "oom_kill event",
                                        "OOM Killed",
                                        "OOM killer",
                                        "TaskOOM event",
                                        "node running low on memory"};
    if (state->killed || !text_contains_any(line, words, sizeof words / sizeof *words))
        return false;
    log_name_set(row->killed, (struct text){(const uint8_t *)"a process", 9});
    return true;
}

/* "Memory cgroup out of memory: Killed process 1234 (python) total-vm:9kB, anon-rss:8kB, ..." and the kernel's own. */
static bool kill_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure rss = {"anon-rss", BEHIND, NOTE_HOST_USED, 0};
    uint64_t nbytes;
    bool kernel = log_has(line, "ut of memory: Kill") || log_has(line, "Killed process ");
    if (kernel && log_figure_find(line, &rss, &nbytes)) {
        log_know(row, NOTE_HOST_USED, nbytes);
        name_of_killed(line, row);
    } else if (!kill_word(state, line, row)) {
        return false;
    }
    state->killed = true;
    if (state->host_limit != 0)
        log_know(row, NOTE_HOST_LIMIT, state->host_limit);
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
    if (sglang_cache(line, row) || kill_line(state, line, row))
        return LOG_ROW;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct log_form *form = &forms[i];
        if (!log_has(line, form->needs[0]) || (form->needs[1][0] != '\0' && !log_has(line, form->needs[1])) ||
            log_figures_read(line, form->figures, row) == 0)
            continue;
        row->gpu = form->host ? LOG_HOST : row->gpu;
        gpu_in_brackets(line, row);
        if (text_begins(line, "| GPU Memory Used") && state->stream->table_gpu >= 0)
            row->gpu = state->stream->table_gpu;
        if (log_knows(row, NOTE_HOST_LIMIT))
            state->host_limit = row->value[NOTE_HOST_LIMIT];
        log_maxima_show(row);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* ---- the tables of nvidia-smi and npu-smi: the device's number stands in the line before ---- */

/* "|   0  NVIDIA H100 80GB HBM3          On  |", "| Device ID                   | 0" */
static void table_gpu(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t at = log_skip(line, 1),
             cell = log_find(line, at, "Device ID") == at ? log_find(line, at, "| ") : at - 2;
    uint32_t next = cell != LOG_NONE ? log_count(line, log_skip(line, cell + 2), &number) : LOG_NONE;
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
    for (uint32_t i = log_find(line, 0, "/"); i != LOG_NONE; i = log_find(line, i + 1, "/"))
        slash = i;
    bool sizes = slash != LOG_NONE && log_size_in(line, slash, npu ? MIB : 0, &used) &&
                 log_size(line, log_skip(line, slash + 1), npu ? MIB : 0, &total) != LOG_NONE &&
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
