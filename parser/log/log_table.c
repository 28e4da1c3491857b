#include "parser/log/log_forms.h"

#include "base/numbers.h"

#include <string.h>

/* 10^9 bytes. */
#define GB UINT64_C(1000000000)

/* A device's figures, the same with flags, the host's, and a form with one figure that its own words announce; an
 * error that names a request, and words alone; a kill. */
// clang-format off
#define WORDS(first, second, kind, flags, name)   {{first, second}, kind, flags, name, {{NULL, BEHIND, NOTE_LINE, 0}}}
#define FLAGGED(flags, first, second, ...)        {{first, second}, FORM_LEVEL, flags, NULL, {__VA_ARGS__}}
#define FORM(first, second, ...)                  {{first, second}, FORM_LEVEL, 0, NULL, {__VA_ARGS__}}
#define HOST(first, second, ...)                  {{first, second}, FORM_HOST, 0, NULL, {__VA_ARGS__}}
#define ONE(words, place, what, unit)             {{words, NULL}, FORM_LEVEL, 0, NULL, {{words, place, what, unit}}}
#define ERROR(first, second, backend, place, unit) \
    {{first, second}, FORM_ERROR, 0, backend, {{first, place, NOTE_ASKED, unit}}}
#define BARE(words, flags, backend)               WORDS(words, NULL, FORM_ERROR, flags, backend)
#define KILL(first, second, killer, ...)          {{first, second}, FORM_KILL, 0, killer, {__VA_ARGS__}}
#define KILLED(words, killer)                     WORDS(words, NULL, FORM_KILL, 0, killer)
#define SIGNAL(words, name)                       WORDS(words, NULL, FORM_SIGNAL, 0, name)
#define TRACE(words)                              WORDS(words, NULL, FORM_TRACE, 0, NULL)
#define CHAIN(words)                              WORDS(words, NULL, FORM_TRACE, FLAG_CHAIN, NULL)
#define INSIDE(words)                             WORDS(words, NULL, FORM_TRACE, FLAG_INSIDE, NULL)
// clang-format on

const struct log_form log_forms[] = {
    /* Other programs' accounting, and prose: what looks like a form in such a line is none. */
    WORDS("potential root causes", NULL, FORM_OTHER, 0, NULL), /* Ray lists what may have happened */
    WORDS(": 0 Workers (tasks / actors) killed", NULL, FORM_OTHER, 0, NULL), /* Ray: they crashed */
    WORDS("tensorflow/", NULL, FORM_OTHER, 0, NULL),
    WORDS("RESOURCE_EXHAUSTED", NULL, FORM_OTHER, 0, NULL), /* XLA */
    WORDS("ggml_", NULL, FORM_OTHER, 0, NULL),              /* llama.cpp */
    WORDS("onnxruntime", NULL, FORM_OTHER, 0, NULL),
    WORDS("RMM failure", NULL, FORM_OTHER, 0, NULL),
    WORDS("VIS_VRAM", NULL, FORM_OTHER, 0, NULL), /* rocm-smi: the part of the memory that the host sees */

    /* CPython, torchrun and loggers; IPython 7 and 8, notebooks, rich; VS Code; ends and chains of tracebacks */
    TRACE("raceback (most recent call last)"),
    TRACE("\", line "),
    TRACE("Exception has occurred: "),
    CHAIN("of the above exception"),
    CHAIN("The above exception was"),
    CHAIN("ray.exceptions."),
    CHAIN("Root Cause"),
    CHAIN("ChildFailedError"),
    INSIDE(".py:"),
    INSIDE(".py in "),
    INSIDE("> in "),
    INSIDE("Cell In"),
    INSIDE("--> "),
    INSIDE("Error:"),
    INSIDE("Exception:"),
    INSIDE("Warning:"),

    WORDS("expandable_segments:True", NULL, FORM_SETTING, 0, NULL),

    /* ---- errors with a request ---- */

    /* PyTorch since 2.13: CUDACachingAllocator.cpp warns before it gives its cache back and tries again */
    {{"memory allocation failed with OOM on device", NULL},
     FORM_ERROR,
     FLAG_RETRIED,
     "CUDA",
     {{"rying to allocate", BEHIND, NOTE_ASKED, 0},
      {"(free:", BEHIND, NOTE_DEVICE_FREE, 1},
      {", total:", BEHIND, NOTE_DEVICE_TOTAL, 1}}},
    {{"memory mapping failed with OOM on device", NULL},
     FORM_ERROR,
     FLAG_RETRIED,
     "CUDA",
     {{"rying to map", BEHIND, NOTE_ASKED, 0},
      {"(free:", BEHIND, NOTE_DEVICE_FREE, 1},
      {", total:", BEHIND, NOTE_DEVICE_TOTAL, 1}}},
    /* vLLM 0.7 and later: worker/gpu_worker.py, v1/core/kv_cache_utils.py */
    ERROR("is less than desired GPU memory utilization", NULL, "vLLM", TOTAL_OF, 0),
    ERROR(" KV cache is needed", NULL, "vLLM", BEFORE, 0),
    /* PyTorch, every backend; torch_npu's workspaces */
    ERROR("ried to allocate", NULL, NULL, BEHIND, 0),
    ERROR("Invalid buffer size:", NULL, "MPS", BEHIND, 0),        /* on MPS: Metal's limit for one buffer */
    ERROR("llocation failed for size::", NULL, "HPU", BEHIND, 1), /* Habana: PT_DEVMEM, SYNHELPER */
    ERROR("llocation of size ::", NULL, "HPU", BEHIND, 1),
    ERROR(" with size ", "in AlignedAllocator", "FlashInfer", BEHIND, 1),
    ERROR("Failed to CUDA calloc async", NULL, "CUDA", BEHIND, 0), /* NCCL since 2.21, and before */
    ERROR("Failed to CUDA calloc", NULL, "CUDA", BEHIND, 0),
    ERROR("resource[DeviceMemory] with info [size:", NULL, "NPU", BEHIND, 1), /* CANN 8 */
    ERROR("Unable to allocate", "for an array with shape", "CPU", BEHIND, 0), /* NumPy */
    ERROR("unable to mmap", NULL, "shm", BEHIND, 0),                          /* PyTorch: MapAllocator.cpp */

    /* ---- errors without one ---- */

    BARE("CUDA out of memory occurred when", 0, "vLLM"),                   /* gpu_model_runner.py */
    BARE("would exceed allowed memory. (out of memory)", 0, "CUDA async"), /* CUDAMallocAsyncAllocator.cpp */
    BARE("OutOfMemoryError: Allocation on device", 0, "CUDA async"),       /* the same, cut by ComfyUI */
    BARE("processing!!! Allocation on device", 0, "CUDA async"),
    BARE("out of memory", FLAG_ALONE, NULL),
    BARE("cudaErrorMemoryAllocation", 0, "CUDA"),
    BARE("CUDA_ERROR_OUT_OF_MEMORY", 0, "CUDA"),
    BARE("hipErrorOutOfMemory", 0, "HIP"),
    BARE("_STATUS_ALLOC_FAILED", 0, "CUDA"), /* cuBLAS, cuDNN, cuSOLVER */

    BARE("_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", 0, "XPU"), /* Unified Runtime */
    BARE("PI_ERROR_OUT_OF_", 0, "XPU"),
    BARE("out of device memory on current platform", 0, "XPU"),
    BARE("Failed to apply for memory.", 0, "NPU"), /* CANN */
    WORDS("EL0004", "Failed to allocate memory", FORM_ERROR, 0, "NPU"),
    /* PyTorch asks NVML while it reports the error: MIG, Jetson */
    WORDS("NVML_SUCCESS == ", "CUDACachingAllocator.cpp", FORM_ERROR, 0, "CUDA"),
    BARE("No available memory for the cache blocks", 0, "vLLM"),
    BARE("that can be stored in KV cache", 0, "vLLM"),
    BARE("Not enough memory. Please try to increase --mem-fraction-static", 0, "SGLang"),
    BARE("MemoryError", FLAG_ALONE, "CPU"), /* Python */
    BARE("std::bad_alloc", 0, "CPU"),
    BARE("Cannot allocate memory", 0, "CPU"),
    BARE("posix_memalign(&data", 0, "CPU"), /* PyTorch 1.0 to 1.3: CPUAllocator.cpp */
    BARE("DefaultCPUAllocator: not enough memory", 0, "CPU"),
    BARE("[WinError 1455]", 0, "CPU"),
    BARE("insufficient shared memory (shm)", 0, "shm"), /* PyTorch: DataLoader */
    BARE("is killed by signal: Bus error", 0, "shm"),
    BARE("unable to write to file </torch_", 0, "shm"),
    BARE("failed to extend /dev/shm/", 0, "shm"), /* NCCL: shmutils.cc */

    /* ---- kills ---- */

    KILL("Killed process ", "anon-rss", "the kernel", {"anon-rss", BEHIND, NOTE_HOST_USED, 0}),
    KILLED("oom-kill:constraint=", "the kernel"), /* comes before it, and stands alone in monitors */
    KILLED("oom_reaper: reaped process", "the kernel"),
    /* Ray: its monitor's message, of 2.2 and later */
    KILL("Memory on the node", "exceeds the memory usage threshold", "Ray",
         {") was running was", USED_OF, NOTE_HOST_USED, 0},
         {") was running was", TOTAL_OF, NOTE_DEVICE_TOTAL, 0},
         {"memory used=", BEHIND, NOTE_PROCESS_USED, 0}),
    KILL("exceeded memory limit (", "being killed", "Slurm", {"limit (", BEHIND, NOTE_HOST_USED, KIB},
         {" > ", BEHIND, NOTE_HOST_LIMIT, KIB}),
    KILL("node was low on resource: memory", NULL, "the kubelet", {"was using", BEHIND, NOTE_HOST_USED, 0}),
    KILL("Killed /", " due to memory ", "systemd-oomd", {"memory used (", BEHIND, NOTE_HOST_USED, 1},
         {"/ total (", BEHIND, NOTE_DEVICE_TOTAL, 1}),
    KILLED("oom-kill event", "Slurm"),
    KILLED("oom_kill event", "Slurm"),
    KILLED("State: OUT_OF_MEMORY", "Slurm"),
    KILLED("JobState=OUT_OF_MEMORY", "Slurm"),
    KILLED("OUT_OF_MEMORY (exit code", "Slurm"),
    KILLED(": Out Of Memory", "Slurm"),
    KILLED("OOMKilled", "Kubernetes"),
    KILLED("System OOM encountered", "Kubernetes"),
    KILLED("Cgroup OOM encountered", "Kubernetes"),
    KILLED(" container oom ", "Docker"),
    KILLED("node running low on memory", "Ray"),
    KILLED("killed due to memory pressure (OOM)", "Ray"),
    KILLED("by the OOM killer", "the kernel"),
    KILLED("with result 'oom-kill'", "systemd"),
    /* torchrun, DeepSpeed's launcher, DataLoader, containers; drivers of XPUs */
    SIGNAL("(exitcode: -9)", NULL),
    SIGNAL("exitcode  : -9 ", NULL),
    SIGNAL("return code = -9", NULL),
    SIGNAL("Signal 9 (SIGKILL) received", NULL),
    SIGNAL("terminated with signal SIGKILL", NULL), /* torch.multiprocessing */
    SIGNAL("Command terminated by signal 9", NULL), /* GNU time */
    SIGNAL("killed by signal: Killed", NULL),
    SIGNAL("exit code 137", NULL),
    SIGNAL("exit code: 137", NULL),
    SIGNAL("exited with code 137", NULL),
    SIGNAL("xit Code:    137", NULL),
    SIGNAL("killed  ", "shell"),
    SIGNAL("Killed", "shell"),
    SIGNAL("RESULT_ERROR_OUT_OF_RESOURCES", "driver"),

    /* ---- tables ---- */

    /* torch.cuda.memory_summary() */
    WORDS("memory summary, device ID", NULL, FORM_DEVICE, 0, NULL),
    FLAGGED(FLAG_JOINED | FLAG_CARRIED, "CUDA OOMs", "cudaMalloc retries",
            {"CUDA OOMs", COUNTED, NOTE_OOM_COUNT, 0}, {"cudaMalloc retries", COUNTED, NOTE_RETRIES, 0}),
    FLAGGED(FLAG_JOINED | FLAG_CARRIED, "| Allocated memory ", NULL,
            {"| Allocated memory", CELL, NOTE_ALLOCATED, 0},
            {"| Allocated memory", NEXT_CELL, NOTE_MAX_ALLOCATED, 0}),
    FLAGGED(FLAG_JOINED | FLAG_CARRIED, "reserved memory   ", NULL,
            {"reserved memory", CELL, NOTE_RESERVED, 0},
            {"reserved memory", NEXT_CELL, NOTE_MAX_RESERVED, 0}),
    /* nvidia-smi, also with parts of GPUs (MIG), whose rows have no power; hl-smi; xpu-smi 2.0 */
    FLAGGED(FLAG_BEFORE, "MiB / ", "W / ", {"/ ", USED_OF_LAST, NOTE_DEVICE_USED, 0},
            {"/ ", TOTAL_OF_LAST, NOTE_DEVICE_TOTAL, 0}),
    FLAGGED(FLAG_BEFORE, "MiB / ", "N/A / ", {"/ ", USED_OF_LAST, NOTE_DEVICE_USED, 0},
            {"/ ", TOTAL_OF_LAST, NOTE_DEVICE_TOTAL, 0}),
    /* npu-smi 22 to 25 */
    FLAGGED(FLAG_BEFORE, "| 0000:", NULL, {"/ ", USED_OF_LAST, NOTE_DEVICE_USED, MIB},
            {"/ ", TOTAL_OF_LAST, NOTE_DEVICE_TOTAL, MIB}),
    /* xpu-smi stats 1.2 */
    WORDS("| Device ID ", NULL, FORM_DEVICE, 0, NULL),
    FLAGGED(FLAG_CARRIED, "GPU Memory Used (MiB)", NULL,
            {"GPU Memory Used (MiB)", CELL, NOTE_DEVICE_USED, MIB}),
    WORDS("memory.used [", NULL, FORM_CSV, 0, NULL), /* also with nounits */

    WORDS("_mem_gpu", NULL, FORM_STAGE, 0, NULL), /* transformers: trainer_utils.py, TrainerMemoryTracker */

    /* ---- training ---- */

    /* DeepSpeed, Megatron-DeepSpeed: see_memory_usage; Arctic Training adds NVML's figure */
    FLAGGED(FLAG_RESET | FLAG_LABELLED, "MA ", "Max_MA ", {"MA ", WHOLE, NOTE_ALLOCATED, 0},
            {"Max_MA ", WHOLE, NOTE_MAX_ALLOCATED, 0}, {"CA ", WHOLE, NOTE_RESERVED, 0},
            {"Max_CA ", WHOLE, NOTE_MAX_RESERVED, 0}, {"NV ", WHOLE, NOTE_DEVICE_USED, 0}),
    /* the label of DeepSpeed's line, which its logger marks alike */
    WORDS("see_memory_usage]", NULL, FORM_LABEL, 0, NULL),
    /* Megatron-LM: training/utils.py, report_memory */
    FLAGGED(FLAG_LABEL, "memory (MB)", "allocated: ", {"| allocated:", BEHIND, NOTE_ALLOCATED, MIB},
            {"| max allocated:", BEHIND, NOTE_MAX_ALLOCATED, MIB},
            {"| reserved:", BEHIND, NOTE_RESERVED, MIB}, {"| max reserved:", BEHIND, NOTE_MAX_RESERVED, MIB},
            {"| total device memory used:", BEHIND, NOTE_DEVICE_USED, MIB}),
    /* torchtitan: components/metrics.py prints the most that was reserved since its line before */
    FLAGGED(FLAG_RESET, "memory: ", "GiB(", {"memory:", BEHIND, NOTE_MAX_RESERVED, 0}),
    FLAGGED(FLAG_RESET, "memory usage for model:", "GiB(",
            {"memory usage for model:", BEHIND, NOTE_MAX_RESERVED, 0}),
    ONE(" memory allocation retries", COUNT_BEFORE, NOTE_RETRIES, 0),
    ONE(" OOM errors thrown", COUNT_BEFORE, NOTE_OOM_COUNT, 0),
    FORM(" capacity: ", "GiB memory", {" memory", BEFORE, NOTE_DEVICE_TOTAL, 0}),
    /* DeepSpeed: stage3.py, timer.py */
    FORM("MemAllocated=", "MaxMemAllocated=", {"MemAllocated=", WHOLE, NOTE_ALLOCATED, 0},
         {"MaxMemAllocated=", BEHIND, NOTE_MAX_ALLOCATED, 0}),
    ONE(" allocator cache flushes since last step", COUNT_BEFORE, NOTE_RETRIES, 0),
    /* NeMo: megatron_base_model.py with NEMO_LOG_MEMORY_USAGE; Megatron-Bridge: train_utils.py, powers of ten */
    FORM("peak_memory_usage", "global_step", {"peak_memory_usage", CELL, NOTE_MAX_RESERVED, 1},
         {"memory_allocated", CELL, NOTE_ALLOCATED, 1}),
    FORM("max_memory_reserved:", "global_step", {"max_memory_reserved", CELL, NOTE_MAX_RESERVED, 1},
         {"max_memory_allocated", CELL, NOTE_MAX_ALLOCATED, 1}),
    FORM("mem-allocated-gigabytes", NULL, {"mem-allocated-gigabytes", DECIMAL, NOTE_ALLOCATED, GB},
         {"mem-max-allocated-gigabytes", DECIMAL, NOTE_MAX_ALLOCATED, GB},
         {"mem-reserved-gigabytes", DECIMAL, NOTE_RESERVED, GB},
         {"mem-max-reserved-gigabytes", DECIMAL, NOTE_MAX_RESERVED, GB},
         {"mem-alloc-retires", COUNTED, NOTE_RETRIES, 0}),
    /* verl: utils/debug/performance.py, log_gpu_memory_usage; its copies of vLLM print powers of ten */
    FLAGGED(FLAG_LABEL, "memory allocated (GB)", "memory reserved (GB)",
            {"memory allocated (GB)", CELL, NOTE_ALLOCATED, GIB},
            {"memory reserved (GB)", CELL, NOTE_RESERVED, GIB},
            {"device memory used/total (GB):", USED_OF, NOTE_DEVICE_USED, GIB},
            {"device memory used/total (GB):", TOTAL_OF, NOTE_DEVICE_TOTAL, GIB}),
    FLAGGED(FLAG_LABEL, " memory allocated:", "init cache ",
            {"memory allocated:", DECIMAL, NOTE_ALLOCATED, 0}, {"reserved:", DECIMAL, NOTE_RESERVED, 0}),
    FORM("perf/max_memory_allocated_gb", NULL,
         {"perf/max_memory_allocated_gb", CELL, NOTE_MAX_ALLOCATED, GIB},
         {"perf/max_memory_reserved_gb", CELL, NOTE_MAX_RESERVED, GIB}),
    HOST("perf/cpu_memory_used_gb", NULL, {"perf/cpu_memory_used_gb", CELL, NOTE_HOST_USED, GIB}),
    /* miles, slime: memory_utils.py */
    FORM("'allocated_GB': ", "'reserved_GB': ", {"'allocated_GB", CELL, NOTE_ALLOCATED, GIB},
         {"'reserved_GB", CELL, NOTE_RESERVED, GIB}, {"'used_GB", CELL, NOTE_DEVICE_USED, GIB},
         {"'total_GB", CELL, NOTE_DEVICE_TOTAL, GIB}),
    /* NeMo-RL: megatron_policy_worker.py */
    FLAGGED(FLAG_LABEL, "GB allocated, ", "GPU Memory ", {" allocated,", BEFORE, NOTE_ALLOCATED, 0},
            {" reserved", BEFORE, NOTE_RESERVED, 0}),
    /* axolotl: utils/bench.py, 0.3 to 0.9; the dictionary of 0.10 and later, and TRL's */
    FORM(" memory usage ", "GB (", {"GB (", NUMBER_BEFORE, NOTE_ALLOCATED, GIB},
         {" cache", ON_TOP, NOTE_RESERVED, 0}, {" misc", ON_TOP, NOTE_DEVICE_USED, 0}),
    FORM("memory/max_mem_a", "(gib)", {"memory/max_mem_allocated(gib)", CELL, NOTE_MAX_ALLOCATED, GIB},
         {"memory/device_mem_reserved(gib)", CELL, NOTE_MAX_RESERVED, GIB}),
    FORM("memory/max_a", "(GiB)", {"memory/max_allocated (GiB)", CELL, NOTE_MAX_ALLOCATED, GIB},
         {"memory/device_reserved (GiB)", CELL, NOTE_MAX_RESERVED, GIB}),
    /* torchtune: get_memory_stats; LLaMA-Factory 0.9; ms-swift 3 */
    FORM("peak_memory_alloc:", "peak_memory_reserved:",
         {"peak_memory_alloc:", BEHIND, NOTE_MAX_ALLOCATED, GIB},
         {"peak_memory_reserved:", BEHIND, NOTE_MAX_RESERVED, GIB}),
    ONE("GPU peak memory allocation:", BEHIND, NOTE_MAX_ALLOCATED, 0),
    ONE("GPU peak memory reserved:", BEHIND, NOTE_MAX_RESERVED, 0),
    FORM("'vram_allocated'", "'vram_reserved'", {"vram_allocated", CELL, NOTE_MAX_ALLOCATED, GIB},
         {"vram_reserved", CELL, NOTE_MAX_RESERVED, GIB}),
    FORM("'memory(GiB)': ", NULL, {"'memory(GiB)", CELL, NOTE_MAX_RESERVED, GIB}),
    /* memory_stats(), printed by itself or by Lightning's DeviceStatsMonitor; Lightning's CUDACallback */
    FORM("_bytes.all.", NULL, {"allocated_bytes.all.current", PAGES, NOTE_ALLOCATED, 1},
         {"allocated_bytes.all.peak", PAGES, NOTE_MAX_ALLOCATED, 1},
         {"reserved_bytes.all.current", PAGES, NOTE_RESERVED, 1},
         {"reserved_bytes.all.peak", PAGES, NOTE_MAX_RESERVED, 1}),
    ONE("Average Peak memory", BEHIND, NOTE_MAX_ALLOCATED, 0),
    /* torch.cuda.mem_get_info(): free and total; of one device, or of each in a list */
    FLAGGED(FLAG_PAIRS, "mem_get_info", ", ", {"(", USED_OF, NOTE_DEVICE_FREE, 1},
            {"(", TOTAL_OF, NOTE_DEVICE_TOTAL, 1}),
    /* TorchInductor: wrapper_benchmark.py; powers of ten */
    ONE("Peak GPU memory usage ", DECIMAL, NOTE_MAX_ALLOCATED, 0),
    ONE("Peak CUDA memory usage ", DECIMAL, NOTE_MAX_ALLOCATED, 0),
    ONE("Peak XPU memory usage ", DECIMAL, NOTE_MAX_ALLOCATED, 0),

    /* ---- budgets of servers ---- */

    /* vLLM: worker.py, gpu_worker.py, gpu_model_runner.py, kv_cache_utils.py, of 0.4 to 0.21 */
    FORM("the current vLLM instance can use total_gpu_memory", NULL,
         {"total_gpu_memory (", BEHIND, NOTE_BUDGET_TOTAL, 0}, {") = ", BEHIND, NOTE_BUDGET_USABLE, 0}),
    FORM("model weights take", "reserved for KV Cache",
         {"model weights take", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"non_torch_memory takes", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"PyTorch activation peak memory takes", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
         {"reserved for KV Cache is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    FORM("Initial free memory", "memory for KV Cache as specified",
         {"Initial free memory", BEHIND, NOTE_BUDGET_AVAILABLE, 0},
         {"memory for KV Cache", BEFORE, NOTE_BUDGET_KV_CACHE, 0}),
    FORM("Initial free memory:", "Requested memory:",
         {"Initial free memory:", BEHIND, NOTE_BUDGET_AVAILABLE, 0},
         {"(util),", BEHIND, NOTE_BUDGET_USABLE, 0}),
    FORM("Free memory on device", "utilization is (",
         {"Free memory on device", TOTAL_OF, NOTE_BUDGET_TOTAL, 0},
         {"GPU memory utilization is", TOTAL_OF, NOTE_BUDGET_USABLE, 0},
         {" for weight", BEFORE, NOTE_BUDGET_WEIGHTS, 0},
         {" for peak activation", BEFORE, NOTE_BUDGET_ACTIVATIONS, 0},
         {" for non-torch memory", BEFORE, NOTE_BUDGET_NON_TORCH, 0},
         {" for CUDAGraph memory", BEFORE, NOTE_BUDGET_GRAPHS, 0},
         {"Current kv cache memory in use is", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    FORM("Total non KV cache memory", NULL,
         {"torch peak memory increase:", BEHIND, NOTE_BUDGET_ACTIVATIONS, 0},
         {"non-torch forward increase memory:", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"weights memory:", BEHIND, NOTE_BUDGET_WEIGHTS, 0}),
    FORM("Memory profiling results:", NULL, {"total_gpu_memory", BEHIND, NOTE_BUDGET_TOTAL, 0},
         {"non_torch_memory", BEHIND, NOTE_BUDGET_NON_TORCH, 0},
         {"kv_cache_size", BEHIND, NOTE_BUDGET_KV_CACHE, 0}),
    ONE("available_kv_cache_memory ", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Available KV cache memory: ", BEHIND, NOTE_BUDGET_KV_CACHE, 0),
    ONE("Model loading took", BEHIND, NOTE_BUDGET_WEIGHTS, 0),
    ONE("Estimated CUDA graph memory:", BEHIND, NOTE_BUDGET_GRAPHS_PLANNED, 0),
    FORM("Graph capturing finished", "took", {", took", BEHIND, NOTE_BUDGET_GRAPHS, 0}),
    FORM("CUDA graph pool memory:", "(actual)", {"(actual)", BEFORE, NOTE_BUDGET_GRAPHS, 0},
         {"(estimated)", BEFORE, NOTE_BUDGET_GRAPHS_PLANNED, 0}),
    ONE("GPU KV cache size:", COUNTED, NOTE_BUDGET_TOKENS, 0),
    ONE("CuMemAllocator: sleep freed", BEHIND, NOTE_BUDGET_SLEEP, 0),
    FORM("Sleep mode freed", NULL, {"Sleep mode freed", BEHIND, NOTE_BUDGET_SLEEP, 0},
         {" memory is still in use", BEFORE, NOTE_DEVICE_USED, 0}),
    /* vLLM for Gaudi: hpu_worker.py, hpu_model_runner.py */
    FORM("cache_engine took", " of device memory (", {"cache_engine took", BEHIND, NOTE_BUDGET_KV_CACHE, 0},
         {" of device memory", USED_OF, NOTE_DEVICE_USED, 0},
         {" of device memory", TOTAL_OF, NOTE_DEVICE_TOTAL, 0}),
    HOST(" of host memory (", NULL, {" of host memory", USED_OF, NOTE_HOST_USED, 0},
         {" of host memory", TOTAL_OF, NOTE_DEVICE_TOTAL, 0}),
    /* SGLang: model_runner.py; "K size: 8.23 GB, V size: 8.23 GB", of latents "KV size: 32.2 GB" */
    FORM("Load weight end", "mem usage=", {"mem usage", BEHIND, NOTE_BUDGET_WEIGHTS, 0},
         {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    FORM("Capture cuda graph end", "mem usage=", {"mem usage", BEHIND, NOTE_BUDGET_GRAPHS, 0},
         {"avail mem", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    FORM("KV Cache is allocated", "size: ", {"K size", ADDED, NOTE_BUDGET_KV_CACHE, 0},
         {"V size", ADDED, NOTE_BUDGET_KV_CACHE, 0}, {"KV size", WHOLE, NOTE_BUDGET_KV_CACHE, 0},
         {"#tokens:", COUNTED, NOTE_BUDGET_TOKENS, 0}),
    FORM("avail mem=", NULL, {"avail mem=", BEHIND, NOTE_BUDGET_AVAILABLE, 0}),
    FORM("available_gpu_mem=", NULL, {"available_gpu_mem=", BEHIND, NOTE_BUDGET_AVAILABLE, GIB},
         {"max_total_num_tokens=", COUNTED, NOTE_BUDGET_TOKENS, 0}),

    /* ---- tools ---- */

    /* rocm-smi --showmeminfo vram */
    ONE("VRAM Total Used Memory (B)", CELL, NOTE_DEVICE_USED, 1),
    ONE("VRAM Total Memory (B)", CELL, NOTE_DEVICE_TOTAL, 1),
    /* `strata run` */
    FORM(" strata-device gpu=", " total=", {" used=", BEHIND, NOTE_DEVICE_USED, 1},
         {" total=", BEHIND, NOTE_DEVICE_TOTAL, 1}, {" reserved=", BEHIND, NOTE_RESERVED, 1}),
    HOST(LOG_DUMP, NULL, {NULL, BEHIND, NOTE_LINE, 0}),
    HOST(" strata-host resident=", NULL, {" strata-host resident=", BEHIND, NOTE_HOST_USED, 1},
         {" cgroup_limit=", BEHIND, NOTE_DEVICE_TOTAL, 1}),
    /* GNU time -v and without a format; cgmemtime; Slurm's seff */
    HOST("Maximum resident set size (kbytes)", NULL, {"(kbytes):", BEHIND, NOTE_MAX_HOST, KIB}),
    HOST("avgdata ", "maxresident)k", {"maxresident)k", NUMBER_BEFORE, NOTE_MAX_HOST, KIB}),
    HOST("child_RSS_high", NULL, {"child_RSS_high", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("Memory Utilized:", NULL, {"Utilized:", BEHIND, NOTE_MAX_HOST, 0}),
    HOST("Memory Efficiency:", "% of ", {"% of", BEHIND, NOTE_DEVICE_TOTAL, 0}),
    /* see_memory_usage: DeepSpeed's line about the host, and that of stas00's copy */
    HOST("CPU Virtual Memory:", "used", {"used", BEHIND, NOTE_HOST_USED, 0}),
    HOST("CPU mem: proc ", "/ node ", {"/ node ", BEHIND, NOTE_HOST_USED, 0}),
    /* the kernel's report on a control group, before it kills */
    HOST(" memory: usage ", ", limit ", {"memory: usage", BEHIND, NOTE_HOST_USED, 0},
         {", limit", BEHIND, NOTE_HOST_LIMIT, 0}),
};

const uint32_t log_n_forms = sizeof log_forms / sizeof *log_forms;

_Static_assert(sizeof log_forms / sizeof *log_forms <= LOG_FORMS_MOST, "a bit for each word");

const struct log_figure log_told[] = {
    /* the request, in a line below the error's words */
    {"ried to allocate", BEHIND, NOTE_ASKED, 0},
    {"llocation of size", BEHIND, NOTE_ASKED, 1},
    {"info [size:", BEHIND, NOTE_ASKED, 1},
    /* PyTorch since 2.1; 2.1 wrote "capacty" */
    {"has a total capacity of", BEHIND, NOTE_DEVICE_TOTAL, 0},
    {"has a total capacty of", BEHIND, NOTE_DEVICE_TOTAL, 0},
    {"of which", BEHIND, NOTE_DEVICE_FREE, 0},
    {"this process has", BEHIND, NOTE_PROCESS_USED, 0},
    {" allowed;", BEFORE, NOTE_ALLOWED, 0},
    {" is allocated by PyTorch", BEFORE, NOTE_ALLOCATED, 0},
    {" allocated in private pools", BEFORE, NOTE_PRIVATE, 0}, /* since 2.4 */
    {" is reserved by PyTorch but unallocated", BEFORE, NOTE_UNALLOCATED, 0},
    /* PyTorch to 2.0, and the backends that kept its words */
    {" total capacity", BEFORE, NOTE_DEVICE_TOTAL, 0},
    {" already allocated", BEFORE, NOTE_ALLOCATED, 0},
    {" free;", BEFORE, NOTE_DEVICE_FREE, 0},
    {" free)", BEFORE, NOTE_DEVICE_FREE, 0}, /* torch_npu's workspaces */
    {" reserved in total by PyTorch", BEFORE, NOTE_RESERVED, 0},
    {" cached)", BEFORE, NOTE_UNALLOCATED, 0}, /* before 1.4: its unallocated part */
    {" cached;", BEFORE, NOTE_UNALLOCATED, 0},
    /* MPS */
    {"MPS allocated", BEHIND, NOTE_ALLOCATED, 0},
    {"other allocations", BEHIND, NOTE_OTHER_USED, 0},
    {"max allowed", BEHIND, NOTE_ALLOWED, 0},
    /* cudaMallocAsync */
    {"Currently allocated ", BEHIND, NOTE_ALLOCATED, 0},
    {"Requested ", BEHIND, NOTE_ASKED, 0},
    {"Device limit ", BEHIND, NOTE_DEVICE_TOTAL, 0},
    {"Free (according to CUDA)", BEHIND, NOTE_DEVICE_FREE, 0},
    /* vLLM, before it begins, and its cache */
    {"Free memory on device", USED_OF, NOTE_DEVICE_FREE, 0},
    {"Free memory on device", TOTAL_OF, NOTE_DEVICE_TOTAL, 0},
    {"available KV cache memory (", BEHIND, NOTE_ALLOWED, 0},
    /* Intel: Level Zero's limit for one buffer */
    {"memory block with size larger than", BEHIND, NOTE_ALLOWED, 0},
    {NULL, BEHIND, NOTE_ASKED, 0}};

const char *const log_backends[][3] = {{"CUDA out of memory", "CUDA", "PYTORCH_CUDA_ALLOC_CONF"},
                                       {"HIP out of memory", "HIP", "PYTORCH_HIP_ALLOC_CONF"},
                                       {"XPU out of memory", "XPU", NULL},
                                       {"MPS backend", "MPS", NULL},
                                       {"NPU out of memory", "NPU", "PYTORCH_NPU_ALLOC_CONF"},
                                       {"MTIA out of memory", "MTIA", NULL},
                                       {"MLU out of memory", "MLU", "PYTORCH_MLU_ALLOC_CONF"},
                                       {"MUSA out of memory", "MUSA", "PYTORCH_MUSA_ALLOC_CONF"},
                                       {"GCU out of memory", "GCU", "PYTORCH_GCU_ALLOC_CONF"},
                                       {"HPU out of memory", "HPU", NULL},
                                       {"(NPU ", "NPU", NULL},
                                       {"NPUWorkspaceAllocator", "NPU", NULL},
                                       {"(MLU ", "MLU", NULL},
                                       {"can NOT allocate memory block", "Level Zero", NULL},
                                       {"DefaultCPUAllocator", "CPU", NULL},
                                       {"Buy new RAM", "CPU", NULL},
                                       {"CUDA", "CUDA", NULL},
                                       {"HIP", "HIP", NULL},
                                       {"uda", "CUDA", NULL},
                                       {NULL, NULL, NULL}};

struct log_words *log_words_make(struct arena *arena) {
    struct log_words *words = arena_alloc(arena, sizeof *words);
    for (uint32_t i = 0; i < 2 * log_n_forms && words != NULL; i++) {
        const char *word = log_forms[i / 2].needs[i % 2];
        if (word == NULL)
            continue;
        uint32_t pair = (uint32_t)(uint8_t)word[0] | (uint32_t)(uint8_t)word[1] << 8;
        uint16_t *first = &words->first[pair];
        words->begins[pair / 64] |= UINT64_C(1) << pair % 64;
        words->length[i] = (uint8_t)strlen(word);
        words->next[i] = *first;
        *first = (uint16_t)(i + 1);
    }
    return words;
}

bool log_forms_find(const struct log_words *words, struct text line, struct log_hits *hits) {
    uint64_t bits[LOG_FORMS_MOST / 32] = {0};
    bool any = false;
    hits->n_forms = 0;
    for (uint32_t i = 0; i + 1 < line.nbytes; i++) {
        uint32_t pair = (uint32_t)line.at[i] | (uint32_t)line.at[i + 1] << 8;
        if ((words->begins[pair / 64] >> pair % 64 & 1) == 0)
            continue;
        for (uint32_t at = words->first[pair]; at != 0; at = words->next[at - 1]) {
            uint32_t word = at - 1, length = words->length[word];
            if (length > line.nbytes - i ||
                memcmp(line.at + i, log_forms[word / 2].needs[word % 2], length) != 0)
                continue;
            bits[word / 64] |= UINT64_C(1) << word % 64;
            any = true;
        }
    }
    for (uint32_t word = 0; word < 2 * log_n_forms && any; word += 64)
        for (uint64_t left = bits[word / 64] & UINT64_C(0x5555555555555555); left != 0; left &= left - 1) {
            uint32_t first = word + (uint32_t)__builtin_ctzll(left);
            if (log_forms[first / 2].needs[1] == NULL || (bits[word / 64] >> (first % 64 + 1) & 1) != 0)
                hits->form[hits->n_forms++] = (uint16_t)(first / 2);
        }
    return any;
}

uint32_t log_form_of(const struct log_hits *hits, enum log_kind kind, uint32_t from) {
    for (uint32_t i = 0; i < hits->n_forms; i++)
        if (hits->form[i] >= from && log_forms[hits->form[i]].kind == kind)
            return hits->form[i];
    return LOG_NONE;
}
