#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <stdio.h>
#include <string.h>

/* A form recognised by words alone: a line with all of `needs` and at least one of the figures. */
struct log_form {
    const char *needs[2]; /* "": any */
    struct log_figure figures[8];
    bool host;
};

/* A form of a device's figures, and one of the host's. */
#define FORM(first, second, ...) \
    { {first, second}, {__VA_ARGS__}, false }
#define HOST(first, second, ...) \
    { {first, second}, {__VA_ARGS__}, true }
/* A form with one figure, recognised by the figure's words. */
#define ONE(words, place, what, unit) FORM(words, "", {words, place, what, unit})

static const struct log_form forms[] = {
    /* vLLM: worker.py, gpu_worker.py, gpu_model_runner.py, utils.py, of 0.4 to 0.12 */
    FORM("the current vLLM instance can use total_gpu_memory", "",
         {"total_gpu_memory (", BEHIND, NOTE_BUDGET_TOTAL, 0}, {") = ", BEHIND, NOTE_BUDGET_USABLE, 0}),
    ONE("the current vLLM instance can use", BEHIND, NOTE_BUDGET_USABLE, 0),
    FORM("model weights take", "", {"model weights take", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"non_torch_memory takes", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"PyTorch activation peak memory takes", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
         {"reserved for KV Cache is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    FORM("Free memory on device", "utilization is (",
         {"Free memory on device", TOTAL_OF, NOTE_BUDGET_TOTAL, 0},
         {"GPU memory utilization is", TOTAL_OF, NOTE_BUDGET_USABLE, 0},
         {" for weight", BEFORE, NOTE_BUDGET_WEIGHTS, 0},
         {" for peak activation", BEFORE, NOTE_BUDGET_ACTIVATIONS, 0},
         {" for non-torch memory", BEFORE, NOTE_BUDGET_NON_TORCH, 0},
         {" for CUDAGraph memory", BEFORE, NOTE_BUDGET_GRAPHS, 0},
         {"Current kv cache memory in use is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    FORM("Total non KV cache memory", "", {"torch peak memory increase:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
         {"non-torch forward increase memory:", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"weights memory:", BEHIND, NOTE_BUDGET_WEIGHTS, 0}),
    FORM("Memory profiling results:", "", {"total_gpu_memory", BEHIND, NOTE_BUDGET_TOTAL, 0},
         {"non_torch_memory", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"kv_cache_size", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    ONE("total_gpu_memory", BEHIND, NOTE_BUDGET_TOTAL, 0),
    ONE("non_torch_memory", BEHIND, NOTE_BUDGET_NON_TORCH, 0),
    ONE("PyTorch activation peak memory", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0),
    ONE("available_kv_cache_memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Available KV cache memory", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("available KV cache memory (", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    /* its fork for Habana: habana_model_runner.py */
    FORM("of device memory (", " used)", {"model weights took in total", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"of device memory", USED_OF, NOTE_DEVICE_USED, 0},
         {"of device memory", TOTAL_OF, NOTE_DEVICE_TOTAL, 0}),
    FORM("Free device memory:", " reserved for KV cache",
         {"Free device memory:", BEHIND, NOTE_BUDGET_AVAILABLE, 0},
         {" reserved for HPUGraphs", BEFORE, NOTE_BUDGET_GRAPHS, 0},
         {" reserved for KV cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0}),
    ONE("Loading model weights took", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE("Model loading took", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE("Estimated CUDA graph memory:", BEHIND, NOTE_BUDGET_GRAPHS, 0),
    ONE(" memory is still in use", BEFORE, NOTE_DEVICE_USED, 0),
    FORM("Graph capturing finished", "", {"took", BEHIND, NOTE_BUDGET_GRAPHS, 0}),
    /* SGLang: model_runner.py */
    FORM("Load weight end", "mem usage=", {"mem usage", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    FORM("Capture cuda graph end", "mem usage=", {"mem usage", BEHIND, NOTE_BUDGET_GRAPHS, 0},
         {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    ONE("avail mem=", BEHIND, NOTE_BUDGET_AVAILABLE, 0),
    ONE("available_gpu_mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0),
    FORM("Init torch distributed ends", "", {"mem usage", BEHIND, NOTE_BUDGET_NON_TORCH, 0}),
    /* TensorRT-LLM: kvCacheManager.cpp, runtime of TensorRT, _torch/pyexecutor/_util.py */
    ONE(" for k/v cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0),
    ONE(" for max tokens in paged KV cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Loaded engine size:", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE(" for execution context memory", BEFORE, NOTE_BUDGET_ACTIVATIONS, 0),
    FORM("Memory usage when calculating max tokens in paged kv cache", "",
         {"total:", BEHIND, NOTE_BUDGET_TOTAL, 0}, {"available:", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    FORM("when calculating max tokens:", "",
         {"when calculating max tokens:", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
         {"device total memory", BEHIND, NOTE_BUDGET_TOTAL, 0}),
    FORM("Memory dynamically allocated during inference (inside torch)", "",
         {"profiling:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0}),
    FORM("Memory used outside torch", "", {"profiling:", BEHIND, NOTE_BUDGET_NON_TORCH, 0}),
    FORM("weights (outside torch)", "", {"profiling:", BEHIND, NOTE_BUDGET_NON_TORCH, 0}),
    FORM("model weights (inside torch)", "", {"profiling:", BEHIND, NOTE_BUDGET_WEIGHTS, 0}),
    FORM("[MemUsageChange] Init", "now: CPU", {", GPU", BEHIND, NOTE_DEVICE_USED, MIB}),
    /* MLC-LLM 0.1: engine.py, model_metadata.py */
    FORM("(Parameters: ", " KVCache: ", {"(Parameters:", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"KVCache:", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
         {"Temporary buffer:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0}),
    /* Ollama 0.1 to 0.11: memory.go */
    FORM("memory.weights.total=", "memory.required.kv=", {"memory.available=", CELL, NOTE_BUDGET_USABLE, 0},
         {"memory.available=[", CELL, NOTE_BUDGET_USABLE, 0},
         {"memory.weights.total=", CELL, NOTE_BUDGET_WEIGHTS, 0},
         {"memory.required.kv=", CELL, NOTE_BUDGET_KV_CACHE, 0},
         {"memory.graph.full=", CELL, NOTE_BUDGET_ACTIVATIONS, 0}),
    ONE(" VRAM available", BEFORE, NOTE_BUDGET_AVAILABLE, 0),
    /* InvokeAI 2 and 3: generate.py; OLMo: train.py; MaxText: max_utils.py; powers of ten, but for the last */
    FORM("Max VRAM used ", "", {"this generation:", DECIMAL, NOTE_MAX_ALLOCATED, GB},
         {"script start:", DECIMAL, NOTE_MAX_ALLOCATED, GB},
         {"VRAM utilization:", DECIMAL, NOTE_ALLOCATED, GB}),
    ONE("System/Peak GPU Memory (MB)", BEHIND, NOTE_MAX_ALLOCATED, 1000000),
    FORM("Using (GB) ", "%) on ", {"Using (GB)", USED_OF, NOTE_ALLOCATED, GIB},
         {"Using (GB)", TOTAL_OF, NOTE_DEVICE_TOTAL, GIB}),
    /* ComfyUI: model_management.py */
    FORM("Total VRAM ", ", total RAM", {"Total VRAM", BEHIND, NOTE_DEVICE_TOTAL, 0}),
    /* AUTOMATIC1111's stable-diffusion-webui, modules/call_queue.py: 1.0 to 1.4 and later */
    FORM("Torch active/reserved:", "Sys VRAM:", {"active/reserved:", USED_OF, NOTE_MAX_ALLOCATED, 0},
         {"active/reserved:", TOTAL_OF, NOTE_MAX_RESERVED, 0}, {"Sys VRAM:", USED_OF, NOTE_DEVICE_USED, 0},
         {"Sys VRAM:", TOTAL_OF, NOTE_DEVICE_TOTAL, 0}),
    FORM("A: ", ", Sys: ", {"A:", BEHIND, NOTE_MAX_ALLOCATED, 0}, {", R:", BEHIND, NOTE_MAX_RESERVED, 0},
         {", Sys:", USED_OF, NOTE_DEVICE_USED, 0}, {", Sys:", TOTAL_OF, NOTE_DEVICE_TOTAL, 0}),
    /* text-generation-inference: flash_causal_lm.py; powers of ten */
    FORM("Free memory ", "(real:", {"Free memory ", DECIMAL, NOTE_BUDGET_AVAILABLE, 0}),
    /* rocm-smi --showmeminfo vram; xpu-smi stats */
    ONE("VRAM Total Used Memory (B)", CELL, NOTE_DEVICE_USED, 1),
    ONE("VRAM Total Memory (B)", CELL, NOTE_DEVICE_TOTAL, 1),
    ONE("GPU Memory Used (MiB)", CELL, NOTE_DEVICE_USED, MIB),
    ONE("USED_VRAM:", BEHIND, NOTE_DEVICE_USED, 0), /* amd-smi metric -m */
    ONE("TOTAL_VRAM:", BEHIND, NOTE_DEVICE_TOTAL, 0),
    /* mlx-lm's tuner and generate: powers of ten */
    FORM("Peak mem ", " GB", {"Peak mem", DECIMAL, NOTE_MAX_ALLOCATED, 0}),
    FORM("Peak memory: ", "Generation", {"Peak memory:", DECIMAL, NOTE_MAX_ALLOCATED, 0}),
    /* Habana: optimum-habana's metrics, printed as a dict and as a table */
    FORM("memory_allocated (GB)", "", {"max_memory_allocated (GB)", CELL, NOTE_MAX_ALLOCATED, GIB},
         {" memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
         {"'memory_allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
         {"total_memory_available (GB)", CELL, NOTE_DEVICE_TOTAL, GIB}),
    /* verl: verl/utils/debug/performance.py, log_gpu_memory_usage */
    FORM("memory allocated (GB)", "memory reserved (GB)",
         {"memory allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
         {"memory reserved (GB)", CELL, NOTE_RESERVED, GIB},
         {"device memory used/total (GB):", USED_OF, NOTE_DEVICE_USED, GIB},
         {"device memory used/total (GB):", TOTAL_OF, NOTE_DEVICE_TOTAL, GIB}),
    /* Megatron-Bridge: report_memory of train_utils.py; Composer: memory_monitor.py; powers of ten */
    FORM("mem-", "-gigabytes", {"mem-allocated-gigabytes", DECIMAL, NOTE_ALLOCATED, GB},
         {"mem-max-allocated-gigabytes", DECIMAL, NOTE_MAX_ALLOCATED, GB},
         {"mem-reserved-gigabytes", DECIMAL, NOTE_RESERVED, GB},
         {"mem-max-reserved-gigabytes", DECIMAL, NOTE_MAX_RESERVED, GB},
         {"mem-alloc-retires", COUNTED, NOTE_RETRIES, 0}),
    FORM("memory/", "", {"/current_allocated_mem", DECIMAL, NOTE_ALLOCATED, GB},
         {"/allocated_mem", DECIMAL, NOTE_ALLOCATED, GB},
         {"/peak_allocated_mem", DECIMAL, NOTE_MAX_ALLOCATED, GB},
         {"/current_reserved_mem", DECIMAL, NOTE_RESERVED, GB}, {"/reserved_mem", DECIMAL, NOTE_RESERVED, GB},
         {"/peak_reserved_mem", DECIMAL, NOTE_MAX_RESERVED, GB},
         {"/alloc_retries", COUNTED, NOTE_RETRIES, 0}),
    /* NeMo: megatron_base_model.py with NEMO_LOG_MEMORY_USAGE, whose peak is of reserved memory */
    FORM("peak_memory_usage", "global_step", {"peak_memory_usage", CELL, NOTE_MAX_RESERVED, 1},
         {"memory_allocated", CELL, NOTE_ALLOCATED, 1}),
    /* memory_stats() of PyTorch, printed by itself or by Lightning's DeviceStatsMonitor */
    FORM("_bytes.all.", "", {"allocated_bytes.all.current", PAGES, NOTE_ALLOCATED, 1},
         {"allocated_bytes.all.peak", PAGES, NOTE_MAX_ALLOCATED, 1},
         {"reserved_bytes.all.current", PAGES, NOTE_RESERVED, 1},
         {"reserved_bytes.all.peak", PAGES, NOTE_MAX_RESERVED, 1}),
    /* Colossal-AI: examples' get_mem_info, which prints memory_allocated(), and benchmarks */
    FORM("GPU memory usage:", "CPU memory usage:", {"GPU memory usage:", BEHIND, NOTE_ALLOCATED, 0}),
    ONE("Max CUDA memory usage:", BEHIND, NOTE_MAX_ALLOCATED, 0),
    /* Lightning's CUDACallback of its examples; Unsloth's notebooks */
    ONE("Average Peak memory", BEHIND, NOTE_MAX_ALLOCATED, 0),
    FORM("Max memory = ", "", {"Max memory = ", BEHIND, NOTE_DEVICE_TOTAL, 0}),
    ONE(" of memory reserved.", BEFORE, NOTE_RESERVED, 0),
    ONE("Peak reserved memory = ", BEHIND, NOTE_MAX_RESERVED, 0),
    /* torchtune: get_memory_stats, in GiB; mmengine, Detectron2, Swin: their loggers, in MiB */
    FORM("peak_memory_alloc:", "peak_memory_reserved:",
         {"peak_memory_alloc:", BEHIND, NOTE_MAX_ALLOCATED, GIB},
         {"peak_memory_reserved:", BEHIND, NOTE_MAX_RESERVED, GIB}),
    FORM("data_time:", " memory: ", {" memory: ", BEHIND, NOTE_MAX_ALLOCATED, MIB}),
    FORM("time:", "max_mem:", {"max_mem:", BEHIND, NOTE_MAX_ALLOCATED, 0}),
    FORM(
        "time: ", "max mem: ", {"max mem:", BEHIND, NOTE_MAX_ALLOCATED, MIB}), /* DETR's logger, and DINO's */
    /* ms-swift; LLaMA-Factory: both read the maxima */
    FORM("'memory(GiB)': ", "", {"'memory(GiB)", CELL, NOTE_MAX_RESERVED, GIB}),
    FORM("vram_allocated", "vram_reserved", {"vram_allocated", CELL, NOTE_MAX_ALLOCATED, GIB},
         {"vram_reserved", CELL, NOTE_MAX_RESERVED, GIB}),
    FORM("grad_norm", "mem ", {"mem ", BEHIND, NOTE_MAX_ALLOCATED, 0}),
    /* torchtitan: metrics.py */
    ONE(" memory allocation retries", COUNT_BEFORE, NOTE_RETRIES, 0),
    /* DeepSpeed: stage3.py; llama-cookbook: memory_utils.py */
    ONE(" allocator cache flushes since last step", COUNT_BEFORE, NOTE_RETRIES, 0),
    ONE("Cuda Malloc retires", COUNTED, NOTE_RETRIES, 0),
    ONE(" OOM errors thrown", COUNT_BEFORE, NOTE_OOM_COUNT, 0),
    FORM(" capacity: ", " memory", {" memory", BEFORE, NOTE_DEVICE_TOTAL, 0}),
    FORM(" capacity, ", " in-use", {" capacity", BEFORE, NOTE_DEVICE_TOTAL, 0},
         {" in-use", BEFORE, NOTE_DEVICE_USED, 0}),
    /* TorchInductor's benchmark of a module: powers of ten */
    ONE("Peak GPU memory usage ", DECIMAL, NOTE_MAX_ALLOCATED, 0),
    ONE("Peak XPU memory usage ", DECIMAL, NOTE_MAX_ALLOCATED, 0),
    /* JAX's memory_stats(), a dict */
    FORM("'bytes_in_use':", "", {"'bytes_in_use", CELL, NOTE_ALLOCATED, 1},
         {"'peak_bytes_in_use", CELL, NOTE_MAX_ALLOCATED, 1}),
    /* The statistics of TensorFlow's allocator by themselves: bfc_allocator.cc */
    ONE("MaxInUse:     ", BEHIND, NOTE_MAX_ALLOCATED, 1),
    ONE("InUse:     ", BEHIND, NOTE_ALLOCATED, 1),
    /* GNU time -v, and without a format; cgmemtime */
    HOST("Maximum resident set size (kbytes)", "", {"(kbytes):", BEHIND, NOTE_MAX_HOST, 1024}),
    HOST("avgdata ", "maxresident)k", {"maxresident)k", NUMBER_BEFORE, NOTE_MAX_HOST, 1024}),
    HOST("child_RSS_high", "", {"child_RSS_high", BEHIND, NOTE_MAX_HOST, 0}),
    /* time -l of macOS; systemd 255, when a unit has ended; psutil.virtual_memory() */
    HOST("  maximum resident set size", "", {"  maximum resident set size", NUMBER_BEFORE, NOTE_MAX_HOST, 1}),
    HOST(" CPU time, ", " memory peak", {" memory peak", BEFORE, NOTE_MAX_HOST, 0}),
    HOST("svmem(", "", {" used=", BEHIND, NOTE_HOST_USED, 1}, {"total=", BEHIND, NOTE_DEVICE_TOTAL, 1}),
    /* seff of Slurm */
    HOST("Memory Utilized:", "", {"Utilized:", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("Memory Efficiency:", "% of ", {"% of", BEHIND, NOTE_DEVICE_TOTAL, 0}),
    /* the summary of LSF, the mail of PBS, the shell of Flux */
    HOST("Max Memory : ", "", {"Max Memory", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("Mem usage : ", "", {"Mem usage", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("resources_used.mem=", "", {"used.mem", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("oom: memory.peak = ", "", {"memory.peak", BEHIND, NOTE_MAX_HOST, 0}),
    /* Ray's monitor, before it kills */
    HOST("Memory on the node", "exceeds the memory usage threshold",
         {") was running was", BEHIND, NOTE_HOST_USED, 0}),
    /* The kernel's report on a control group, before it kills */
    HOST(" memory: usage ", ", limit ", {"memory: usage", BEHIND, NOTE_HOST_USED, 0},
         {", limit", BEHIND, NOTE_HOST_LIMIT, 0}),
};

#undef ONE
#undef HOST
#undef FORM

/* "KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB" */
static bool sglang_cache(struct text line, struct log_row *row) {
    static const struct log_figure k = {"K size", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
                                   v = {"V size", BEHIND, NOTE_BUDGET_KV_CACHE, 0};
    uint64_t keys = 0, values; /* of latents there is one, "KV size: 32.2 GB" */
    if (!log_has(line, "KV Cache is allocated") || !log_figure_find(line, &v, &values) ||
        (!log_figure_find(line, &k, &keys) && !log_has(line, "KV size")))
        return false;
    log_know(row, NOTE_BUDGET_KV_CACHE, keys + values);
    return true;
}

/* Ollama's scheduler states the memory of each GPU: "updated VRAM based on existing loaded models", "inference
 * compute". */
static bool ollama_gpu(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure total = {" total=", CELL, NOTE_DEVICE_TOTAL, 0},
                                   available = {" available=", CELL, NOTE_DEVICE_FREE, 0},
                                   now_total = {" now.total=", CELL, NOTE_DEVICE_TOTAL, 0},
                                   now_free = {" now.free=", CELL, NOTE_DEVICE_FREE, 0};
    uint64_t all, left;
    if ((!log_has(line, "msg=\"updated VRAM based on") && !log_has(line, "msg=\"inference compute\"") &&
         !log_has(line, "msg=\"updating cuda memory data\"")) ||
        log_has(line, "library=cpu") ||
        (!log_figure_find(line, &total, &all) && !log_figure_find(line, &now_total, &all)) ||
        (!log_figure_find(line, &available, &left) && !log_figure_find(line, &now_free, &left)) || left > all)
        return false;
    log_uuid_find(state, line, row);
    log_know(row, NOTE_DEVICE_TOTAL, all);
    log_know(row, NOTE_DEVICE_USED, all - left);
    return true;
}

/* "llama_kv_cache_init:      CUDA0 KV buffer size =   379.23 MiB" of llama.cpp, "msg="kv cache" device=CUDA0
 * size="1.2 GiB"" of Ollama: parts of a device's budget. Buffers on the host do not count. */
static bool ggml_buffer(struct text line, struct log_row *row) {
    static const struct {
        const char *words, *device;
        struct log_figure size;
    } parts[] = {{" model buffer size =", "", {"size =", BEHIND, NOTE_BUDGET_WEIGHTS, 0}},
                 {" KV buffer size =", "", {"size =", BEHIND, NOTE_BUDGET_KV_CACHE, 0}},
                 {" compute buffer size =", "", {"size =", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0}},
                 {" buffer size =", "", {"size =", BEHIND, NOTE_BUDGET_WEIGHTS, 0}},
                 {"msg=\"model weights\" ", "device=", {" size=", CELL, NOTE_BUDGET_WEIGHTS, 0}},
                 {"msg=\"model weights\" ", "buffer=", {" size=", CELL, NOTE_BUDGET_WEIGHTS, 0}},
                 {"msg=\"kv cache\" ", "device=", {" size=", CELL, NOTE_BUDGET_KV_CACHE, 0}},
                 {"msg=\"compute graph\" ", "device=", {" size=", CELL, NOTE_BUDGET_ACTIVATIONS, 0}},
                 {"msg=\"compute graph\" ", "backend=", {" size=", CELL, NOTE_BUDGET_ACTIVATIONS, 0}}};
    uint64_t nbytes, gpu = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool named = parts[i].device[0] != '\0';
        uint32_t at = log_find(line, 0, parts[i].words),
                 from = named ? log_find(line, at, parts[i].device) : at;
        if (at == LOG_NONE || from == LOG_NONE || !log_figure_find(line, &parts[i].size, &nbytes))
            continue;
        uint32_t end = named ? log_find(line, from, " ") : at, digits;
        end = end != LOG_NONE ? end : line.nbytes;
        digits = log_digits_begin(line, end, false);
        if (!text_ends((struct text){line.at, end}, "Metal") && log_count(line, digits, &gpu) != end)
            return false;
        log_gpu_set(row, gpu);
        log_know(row, parts[i].size.what, nbytes);
        return true;
    }
    return false;
}

/* Words of a kill's message, the killer, and the figures. */
static const struct {
    const char *needs[2], *killer;
    struct log_figure figures[3];
} kills[] = {
    {{"Killed process ", "anon-rss"}, "the kernel killed ", {{"anon-rss", BEHIND, NOTE_HOST_USED, 0}}},
    {{" to process ", "VmRSS"}, "earlyoom killed ", {{"VmRSS", BEHIND, NOTE_HOST_USED, 0}}},
    {{"illing process ", "VmRSS"}, "earlyoom killed ", {{"VmRSS", BEHIND, NOTE_HOST_USED, 0}}},
    {{"exceeded memory limit (", "being killed"},
     "Slurm killed ",
     {{"limit (", BEHIND, NOTE_HOST_USED, 1024}, {" > ", BEHIND, NOTE_HOST_LIMIT, 1024}}},
    {{"node was low on resource: memory", ""},
     "the kubelet killed ",
     {{"was using", BEHIND, NOTE_HOST_USED, 0}}},
    {{"Killed /", " due to memory "},
     "systemd-oomd killed ",
     {{"memory used (", BEHIND, NOTE_HOST_USED, 1}, {"/ total (", BEHIND, NOTE_DEVICE_TOTAL, 1}}},
    {{"PBS: job killed: mem ", "exceeded limit"},
     "PBS killed ",
     {{"killed: mem", BEHIND, NOTE_HOST_USED, 1}, {"limit", BEHIND, NOTE_HOST_LIMIT, 1}}},
    {{"xceeded step memory limit", ""}, "Slurm killed ", {{NULL, BEHIND, NOTE_LINE, 0}}},
    {{"xceeded job memory limit", ""}, "Slurm killed ", {{NULL, BEHIND, NOTE_LINE, 0}}}};

/* "Killed process 1234 (python)", "to process 12006 uid 1000 "python3":" */
static void name_of_killed(struct text line, const char *killer, struct log_row *row) {
    static const char open[] = "(\"'", close[] = ")\"'";
    struct text name = word_text("a process");
    uint32_t at = log_find(line, 0, "rocess "), end = at != LOG_NONE ? at + 32 : 0;
    for (; at < end && at < line.nbytes; at++) {
        const char *quote = strchr(open, line.at[at]);
        if (quote == NULL || *quote == '\0')
            continue;
        const char closing[2] = {close[quote - open], '\0'};
        uint32_t stop = log_find(line, at + 1, closing);
        while (stop != LOG_NONE && stop + 1 < line.nbytes && line.at[stop + 1] == (uint8_t)closing[0])
            stop++; /* "((sd-pam))" */
        if (stop != LOG_NONE)
            name = (struct text){line.at + at + 1, stop - at - 1};
        break;
    }
    (void)snprintf(row->killed, sizeof row->killed, "%s%.*s", killer, (int)name.nbytes,
                   (const char *)name.at);
}

/* Messages of Kubernetes, containerd, systemd and batch systems about such a kill: they have no figures, and count
 * only if no other line reported one. */
static bool kill_word(const struct log_state *state, struct text line, struct log_row *row) {
    static const char *const words[] = {"OOMKilled",
                                        "oom-kill event",
                                        "oom_kill event",
                                        "OOM Killed",
                                        "by the OOM killer",
                                        "TaskOOM event",
                                        "OUT_OF_MEMORY",
                                        "OUT_OF_ME+",
                                        "node running low on memory",
                                        "TERM_MEMLIMIT",
                                        ": Out Of Memory",
                                        "exceeded a memory resource limit",
                                        "OOMController",
                                        "killed due to memory pressure (OOM)",
                                        "PBS: job killed: vmem",
                                        "Memory cgroup out of memory: killed ",
                                        "OOM encountered",
                                        " container oom "};
    static const char *const not [] = {"OOMKilled\": false", "OOMKilled\":false", "OOMKilled=false",
                                       "OOMKilled: false", "OOMKilled:false"};
    if (state->killed || !text_contains_any(line, words, sizeof words / sizeof *words) ||
        text_contains_any(line, not, sizeof not / sizeof *not ))
        return false;
    log_name_set(row->killed, word_text("a process was killed"));
    return true;
}

/* "Memory cgroup out of memory: Killed process 1234 (python) total-vm:9kB, anon-rss:8kB, ..." and its like. */
static bool kill_line(struct log_state *state, struct text line, struct log_row *row) {
    size_t i = 0, n = sizeof kills / sizeof *kills;
    while (i < n && !log_has_both(line, kills[i].needs))
        i++;
    bool figures = i < n && log_figures_read(line, kills[i].figures, row) != 0, seen;
    seen = i < n && (figures || !state->killed);
    if (seen)
        name_of_killed(line, kills[i].killer, row);
    else if (!kill_word(state, line, row))
        return false;
    state->killed = true;
    if (state->host_limit != 0)
        log_know_first(row, NOTE_HOST_LIMIT, state->host_limit);
    row->is_oom = true;
    return true;
}

/* Sets the row's GPU by "GPU[0]", "on TPU_0", or by an earlier line of the tool: "| Device ID    | 0", rocm-smi's
 * "card0": {, amd-smi's "GPU: 0". */
static void gpu_of_tool(const struct log_stream *stream, struct text line, struct log_row *row) {
    static const char *const words[] = {"| GPU Memory Used", "(B)\": ", "USED_VRAM:", "TOTAL_VRAM:"};
    uint64_t number;
    if (log_count_behind(line, "GPU[", &number) || log_count_behind(line, " on TPU_", &number) ||
        log_count_behind(line, " on cuda:", &number))
        log_gpu_set(row, number);
    else if (text_contains_any(line, words, sizeof words / sizeof *words) && stream->table_gpu >= 0)
        row->gpu = stream->table_gpu;
}

enum log_seen log_table_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t card;
    if (log_has(line, "VIS_VRAM")) /* rocm-smi: the part that the host sees */
        return LOG_PART;
    if ((log_count_behind(line, "\"card", &card) ||
         (log_find(line, 0, "GPU: ") == log_skip(line, 0) &&
          log_count(line, log_skip(line, 0) + 5, &card) == line.nbytes)) &&
        card < 65536)
        state->stream->table_gpu = (int32_t)card;
    if (sglang_cache(line, row) || ggml_buffer(line, row) || ollama_gpu(state, line, row))
        return LOG_ROW;
    bool level = log_column_line(state->stream, line, row), killed = kill_line(state, line, row);
    if (level || killed) {
        row->gpu = log_knows(row, NOTE_DEVICE_USED) ? row->gpu : LOG_HOST;
        log_maxima_show(row);
        return LOG_ROW;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct log_form *form = &forms[i];
        if (!log_has_both(line, form->needs) || log_figures_read(line, form->figures, row) == 0)
            continue;
        row->gpu = form->host ? LOG_HOST : row->gpu;
        gpu_of_tool(state->stream, line, row);
        if (log_knows(row, NOTE_HOST_LIMIT))
            state->host_limit = row->value[NOTE_HOST_LIMIT];
        log_maxima_show(row);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* ---- tables of nvidia-smi, nvitop and npu-smi, with the device's number in the line before; gpustat has it in the
 * same ---- */

/* "|   0  NVIDIA H100 80GB HBM3          On  |", "| Device ID                   | 0" */
static void table_gpu(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t at = log_skip(line, 1),
             cell = log_find(line, at, "Device ID") == at ? log_find(line, at, "| ") : at - 2;
    uint32_t next = cell != LOG_NONE ? log_count(line, log_skip(line, cell + 2), &number) : LOG_NONE;
    if (next != LOG_NONE && number < 65536 && next + 1 < line.nbytes && line.at[next] == ' ')
        stream->table_gpu = (int32_t)number;
}

/* "|    0   N/A  N/A     10734      C   python                       160MiB |" below "| Processes:", if the table
 * above it has no used memory. */
static enum log_seen process_line(struct log_stream *stream, struct text line, struct log_row *row) {
    uint64_t gpu, nbytes;
    uint32_t at = log_skip(line, 1), end = line.nbytes;
    if (log_find(line, at, "Processes:") == at || log_has(line, " PID   Type   Process name")) {
        stream->processes = stream->table_gpu < 0;
        stream->mig = false;
    }
    stream->mig |= log_find(line, at, "MIG devices:") == at;
    while (end > 0 && strchr(" |", line.at[end - 1]) != NULL)
        end--;
    if (!stream->processes || log_count(line, at, &gpu) == LOG_NONE ||
        !text_ends((struct text){line.at, end}, "iB") || !log_size_before(line, end, &nbytes))
        return LOG_NOTHING;
    log_gpu_set(row, gpu);
    return log_share_add(stream, row, nbytes, false);
}

/* "|  1    3   0   0  |  14366MiB / 19968MiB |" below "| MIG devices:": a part of a GPU; the parts are added up. The
 * line of its BAR1 names no GPU. */
static enum log_seen mig_line(struct log_stream *stream, struct text line, uint64_t used,
                              struct log_row *row) {
    uint64_t gpu;
    if (log_count(line, log_skip(line, 1), &gpu) == LOG_NONE)
        return LOG_PART;
    log_gpu_set(row, gpu);
    return log_share_add(stream, row, used, false);
}

enum log_seen log_smi_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t used = 0, total = 0, gpu = 0;
    struct log_stream *stream = state->stream;
    uint32_t at = log_skip(line, 0);
    bool sizes = false, box = log_find(line, at, "\xe2\x94\x82" /* nvitop's bar */) == at;
    if (box || (at < line.nbytes && strchr("|[", line.at[at]) != NULL))
        line = text_from(line, box ? at + 2 : at);
    else
        return log_find(line, at, "+--") == at && !stream->mig && log_share_end(stream, row) ? LOG_ROW
                                                                                             : LOG_NOTHING;
    bool stat = line.at[0] == '[' && log_has(line, " MB"), npu = log_has(line, "| 0000:");
    for (uint32_t i = log_find(line, 0, "/"); i != LOG_NONE && (npu || !sizes);
         i = log_find(line, i + 1, "/"))
        sizes = log_size_in(line, i, npu || stat ? MIB : 0, &used) &&
                log_size(line, log_skip(line, i + 1), npu ? MIB : 0, &total) != LOG_NONE && used <= total &&
                total != 0;
    stream->phy_ids |= log_has(line, "| Chip  Phy-ID ");
    if (stat && log_count(line, 1, &gpu) != LOG_NONE && gpu < 65536)
        stream->table_gpu = (int32_t)gpu;
    else
        sizes &= line.at[0] != '[';
    if (!sizes) {
        enum log_seen seen = process_line(stream, line, row);
        if (line.at[0] != '[' && !stream->processes)
            table_gpu(stream, line);
        return seen;
    }
    if (stream->mig)
        return mig_line(stream, line, used, row);
    log_know(row, NOTE_DEVICE_USED, used);
    log_know(row, NOTE_DEVICE_TOTAL, total);
    /* tpu-info names the device in its row, npu-smi's second form in a second column. */
    uint32_t cell = box ? log_count(line, log_skip(line, 1), &gpu) : LOG_NONE;
    if ((cell != LOG_NONE && log_find(line, log_skip(line, cell), "\xe2\x94\x82") == log_skip(line, cell)) ||
        (npu && stream->phy_ids &&
         log_count(line, log_skip(line, log_count(line, log_skip(line, 1), &gpu)), &gpu) != LOG_NONE))
        log_gpu_set(row, gpu);
    else if (stream->table_gpu >= 0)
        row->gpu = stream->table_gpu;
    return LOG_ROW;
}
