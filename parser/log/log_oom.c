#include "parser/log/log_oom.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <string.h>

/* Limits for wrapped text, and for the tables of XLA and TensorFlow; the hint after the last part of PyTorch's
 * message may be wrapped. */
enum { OOM_LINES = 12, TABLE_LINES = 400, HINT_LINES = 2 };

/* Sizes of the request, by the words in front of them. */
static const struct log_figure asked[] = {
    {"ried to allocate", BEHIND, NOTE_ASKED, 0},         /* PyTorch, every backend; torch_npu's workspaces */
    {"while trying to allocate", BEHIND, NOTE_ASKED, 0}, /* XLA */
    {"Out of memory allocating", BEHIND, NOTE_ASKED, 0}, /* XLA, before 2022; CuPy */
    {"ran out of memory trying to allocate", BEHIND, NOTE_ASKED,
     0},                                               /* TensorFlow's and XLA's BFC allocator */
    {"Attempting to allocate", BEHIND, NOTE_ASKED, 0}, /* XLA on TPU; MLX */
    {"Attempting to reserve", BEHIND, NOTE_ASKED, 0},
    {" buffer of size", BEHIND, NOTE_ASKED, 1},     /* ONNX Runtime, llama.cpp */
    {"unable to mmap", BEHIND, NOTE_ASKED, 0},      /* PyTorch, tensors in shared memory */
    {" (cudaMalloc error", BEFORE, NOTE_ASKED, 0},  /* FAISS */
    {" KV cache is needed", BEFORE, NOTE_ASKED, 0}, /* vLLM */
    {"is less than desired GPU memory utilization", TOTAL_OF, NOTE_ASKED, 0},
    {"Invalid buffer size:", BEHIND, NOTE_ASKED, 0},           /* PyTorch on MPS: Metal's limit for one */
    {"in memory space hbm. Used", BEHIND, NOTE_ASKED, 0},      /* XLA on TPU, when it compiles */
    {"Allocation failed for size::", BEHIND, NOTE_ASKED, 1},   /* Habana */
    {"llocation of size", BEHIND, NOTE_ASKED, 1},              /* Habana; llama.cpp on Vulkan */
    {"malloc of size", BEHIND, NOTE_ASKED, 1},                 /* Arrow */
    {"Requested memory:", BEHIND, NOTE_ASKED, 1},              /* XGBoost */
    {"Alloc size:", BEHIND, NOTE_ASKED, 1},                    /* MindSpore */
    {"Unable to allocate", BEHIND, NOTE_ASKED, 0},             /* NumPy */
    {"memory on GPU", BEFORE, NOTE_ASKED, 0},                  /* Paddle */
    {"alloc_buffer: allocating", BEHIND, NOTE_ASKED, 0},       /* llama.cpp */
    {"Could not allocate tensor with", BEHIND, NOTE_ASKED, 0}, /* DirectML */
    {"Failed to CUDA calloc", BEHIND, NOTE_ASKED, 0},          /* NCCL */
    {"Failed to CUDA calloc async", BEHIND, NOTE_ASKED, 0},
    {" with size ", BEHIND, NOTE_ASKED, 1},                      /* FlashInfer's workspace */
    {"Requested amount of GPU memory (", BEHIND, NOTE_ASKED, 0}, /* TensorRT */
    {"Requested size was", BEHIND, NOTE_ASKED, 0},
    {") from device", BEFORE, NOTE_ASKED, 0}, /* TensorFlow's StreamExecutor */
    {"ailed to allocate", BEHIND, NOTE_ASKED, 0},
    {"out of memory to allocate", BEHIND, NOTE_ASKED, 1},    /* CuPy to 6 */
    {"alloc DEVICE memory:", BEHIND, NOTE_ASKED, 1},         /* Neuron */
    {"object allocation: requested", BEHIND, NOTE_ASKED, 0}, /* OpenVINO */
    {"object allocation: Requested", BEHIND, NOTE_ASKED, 0},
    {"smaller than requested bytes of", BEHIND, NOTE_ASKED, 1},         /* ONNX */
    {"resource[DeviceMemory] with info [size:", BEHIND, NOTE_ASKED, 1}, /* CANN */
    {"Cannot allocate", BEHIND, NOTE_ASKED, 0},                         /* Paddle */
    {"failed to map", BEHIND, NOTE_ASKED, 0},                           /* Java's machine */
    {NULL, BEHIND, NOTE_ASKED, 0}};

/* Words of PyTorch since 2.1. */
static const char unallocated[] = "reserved by PyTorch but unallocated";

/* Other figures of the message, in any of its lines. */
static const struct log_figure told[] = {
    /* PyTorch since 2.1; 2.1 wrote "capacty" */
    {"has a total capacity of", BEHIND, NOTE_DEVICE_TOTAL, 0},
    {"has a total capacty of", BEHIND, NOTE_DEVICE_TOTAL, 0},
    {"of which", BEHIND, NOTE_DEVICE_FREE, 0},
    {"this process has", BEHIND, NOTE_PROCESS_USED, 0},
    {" allowed;", BEFORE, NOTE_ALLOWED, 0},
    {" is allocated by PyTorch", BEFORE, NOTE_ALLOCATED, 0},
    {" is reserved by PyTorch but unallocated", BEFORE, NOTE_UNALLOCATED, 0},
    /* PyTorch to 2.0, and the backends that kept its words */
    {" total capacity", BEFORE, NOTE_DEVICE_TOTAL, 0},
    {" already allocated", BEFORE, NOTE_ALLOCATED, 0},
    {" free;", BEFORE, NOTE_DEVICE_FREE, 0},
    {" free)", BEFORE, NOTE_DEVICE_FREE, 0},
    {", free:", BEHIND, NOTE_DEVICE_FREE, 1},
    {"- Free memory:", BEHIND, NOTE_DEVICE_FREE, 1}, /* XGBoost */
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
    /* vLLM, before it begins */
    {"Free memory on device", USED_OF, NOTE_DEVICE_FREE, 0},
    {"Free memory on device", TOTAL_OF, NOTE_DEVICE_TOTAL, 0},
    /* XLA */
    {"parameter allocation:", BEHIND, NOTE_XLA_PARAMETERS, 0},
    {"constant allocation:", BEHIND, NOTE_XLA_CONSTANTS, 0},
    {"maybe_live_out allocation:", BEHIND, NOTE_XLA_OUTPUTS, 0},
    {"preallocated temp allocation:", BEHIND, NOTE_XLA_TEMPORARIES, 0},
    {" total allocation:", BEHIND, NOTE_XLA_TOTAL, 0},
    {"That was not possible. There are", BEHIND, NOTE_DEVICE_FREE, 0},
    {"largest contiguous region of free memory is", BEHIND, NOTE_LARGEST_FREE, 0},
    {"available KV cache memory (", BEHIND, NOTE_ALLOWED, 0},
    /* MLX; Paddle */
    {"maximum allowed buffer size of", BEHIND, NOTE_ALLOWED, 0},
    {"max alloc size supported by device is", BEHIND, NOTE_ALLOWED, 0}, /* OpenVINO */
    {"max alloc size is", BEHIND, NOTE_ALLOWED, 0},
    {"memory block with size larger than", BEHIND, NOTE_ALLOWED, 0}, /* Level Zero */
    {"available memory is only", BEHIND, NOTE_DEVICE_FREE, 0},
    {"available memory is", BEHIND, NOTE_DEVICE_FREE, 0},
    {" memory has been allocated", BEFORE, NOTE_ALLOCATED, 0},
    {"allocated so far:", BEHIND, NOTE_ALLOCATED, 0}, /* CuPy */
    {"limit set to", BEHIND, NOTE_ALLOWED, 0},
    {NULL, BEHIND, NOTE_ASKED, 0}};

/* Words of lines that name an error without a figure. */
static const char *const bare[] = {"ErrorOutOf",    /* of HIP, Vulkan, Metal */
                                   "ERROR_OUT_OF_", /* of CUDA, SYCL */
                                   "cudaErrorMemoryAllocation",
                                   "would exceed allowed memory. (out of memory)",
                                   "OOM when allocating tensor",
                                   "Resource exhausted: Out",
                                   "HIP_ERROR_OutOfMemory",
                                   "_STATUS_ALLOC_FAILED",
                                   "Error Code 2: OutOfMemory",
                                   "Tried to allocate more than 1EB",
                                   "already allocated;",
                                   "std::bad_alloc",
                                   "Cannot allocate memory",
                                   "Allocation is out of device memory",
                                   "| WARNING: ran out of memory",
                                   "Insufficient VRAM for",
                                   "[WinError 1455]",
                                   "unable to write to file </torch_",
                                   "CL_OUT_OF_RESOURCES",
                                   "out of GPU resources",
                                   "RayOutOfMemoryError",
                                   "Failed to apply for memory.",
                                   "MPS backend out of memory",
                                   "out of shared memory",
                                   "insufficient shared memory",
                                   "Error: failed to extend /dev/shm/",
                                   "Error while creating shared memory segment",
                                   "killed by signal: Bus error",
                                   "No available memory for the cache blocks",
                                   "maximum number of tokens that can be stored in KV cache",
                                   "Not enough memory. Please try to increase --mem-fraction-static",
                                   ":** torch.OutOfMemoryError",
                                   ":** torch.cuda.OutOfMemoryError",
                                   "Not enough memory to handle",
                                   "== cudaSuccess (2 vs. 0)",
                                   "== cudaSuccess. 2 vs 0",
                                   "OutOfMemoryError: Allocation on device",
                                   "execution failed: Insufficient Memory"};

/* "Process 560 has 7.95 GiB memory in use.": adds up the other processes. */
static void processes_read(struct text line, struct log_row *row) {
    uint64_t number, nbytes;
    for (uint32_t at = log_find(line, 0, "Process "); at != LOG_NONE;
         at = log_find(line, at + 1, "Process ")) {
        uint32_t next = log_count(line, at + 8, &number);
        if (next == LOG_NONE || log_find(line, next, " has ") != next)
            continue;
        next = log_size(line, next + 5, 0, &nbytes);
        if (next != LOG_NONE && log_find(line, next, " memory in use") == next)
            log_know(row, NOTE_OTHERS_USED,
                     (log_knows(row, NOTE_OTHERS_USED) ? row->value[NOTE_OTHERS_USED] : 0) + nbytes);
    }
}

/* "(GPU 0;", " GPU 3 has", "(NPU  7;", "on device 0 would" */
static void gpu_read(struct text line, struct log_row *row) {
    static const char *const words[] = {
        "(GPU ", " GPU ",       "(NPU ",         "(MLU ",  "(XPU ",        "(MUSA ", "(GCU ", " on device ",
        "(GPU_", "device:GPU:", " device cuda:", "(MTIA ", "MTIA device ", " GPU #", " GPU=", " dev "};
    uint64_t number;
    /* "host:1:2 [3] include/alloc.h:178 NCCL WARN" */
    uint32_t nccl = log_has(line, " NCCL WARN ") ? log_find(line, 0, " [") : LOG_NONE;
    if (nccl != LOG_NONE && row->gpu == LOG_NO_DEVICE && log_count(line, nccl + 2, &number) != LOG_NONE)
        log_gpu_set(row, number);
    for (size_t i = 0; i < sizeof words / sizeof *words && row->gpu == LOG_NO_DEVICE; i++) {
        uint32_t at = log_find(line, 0, words[i]);
        uint32_t behind = at != LOG_NONE ? at + (uint32_t)strlen(words[i]) : at;
        if (at == LOG_NONE)
            continue;
        if (words[i][4] == '_' && behind < line.nbytes && line.at[behind] >= '0' && line.at[behind] <= '9')
            log_gpu_set(row, (uint64_t)(line.at[behind] - '0')); /* "(GPU_0_bfc)" */
        else if (log_count(line, log_skip(line, behind), &number) != LOG_NONE)
            log_gpu_set(row, number);
    }
}

/* "Limit: 7809138688" of BFC's statistics and the line before them. */
static void bfc_read(struct text line, struct log_row *row) {
    static const struct log_figure figures[] = {{"InUse:", BEHIND, NOTE_ALLOCATED, 1},
                                                {"Limit:", BEHIND, NOTE_ALLOWED, 1},
                                                {"MaxInUse:", BEHIND, NOTE_MAX_ALLOCATED, 1},
                                                {"memory_limit_:", BEHIND, NOTE_ALLOWED, 1},
                                                {"total_region_allocated_bytes_:", BEHIND, NOTE_RESERVED, 1},
                                                {NULL, BEHIND, NOTE_ASKED, 0}};
    bool most = log_has(line, "MaxInUse"); /* it contains the words of the first figure */
    (void)log_figures_read(line, most ? figures + 1 : figures, row);
}

/* Do more lines of tables follow the message? */
static bool has_tables(const struct log_row *row) {
    return strcmp(row->backend, "BFC") == 0 || strcmp(row->backend, "XLA") == 0;
}

/* Used 17.31G of 15.48G hbm */
static void hbm_read(struct text line, struct log_row *row) {
    uint64_t nbytes;
    uint32_t at = log_find(line, 0, "in memory space hbm. Used");
    uint32_t next = at != LOG_NONE ? log_size(line, log_skip(line, at + 25), 0, &nbytes) : LOG_NONE;
    if (next != LOG_NONE && log_find(line, next, " of ") == next &&
        log_size(line, next + 4, 0, &nbytes) != LOG_NONE)
        log_know_first(row, NOTE_DEVICE_TOTAL, nbytes);
}

/* TensorFlow's "OOM when allocating tensor with shape[500,17,17,4032] and type float": the size of that tensor. */
static void tensor_read(struct text line, struct log_row *row) {
    static const struct {
        const char *name;
        uint64_t nbytes;
    } types[] = {{"float", 4}, {"half", 2}, {"bfloat16", 2}, {"double", 8}, {"int32", 4}, {"int64", 8}};
    uint32_t type = log_find(line, 0, "] and type "), at = log_find(line, 0, "shape[");
    uint64_t nbytes = 0, count;
    struct text name = text_from(line, type != LOG_NONE ? type + 11 : line.nbytes);
    if (log_knows(row, NOTE_ASKED) || !log_has(line, "OOM when allocating tensor") || at > type)
        return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_begins(name, types[i].name))
            nbytes = types[i].nbytes;
    at += 5; /* at the bracket */
    while (at < type && nbytes != 0) {
        if ((at = log_count(line, at + 1, &count)) > type || count > UINT64_MAX / 2 / nbytes)
            return;
        nbytes *= count;
    }
    if (nbytes != 0 && nbytes < UINT64_C(1) << 46)
        log_know(row, NOTE_ASKED, nbytes);
}

/* More than 1 EiB: "you tried to allocate 4611686018427387904 bytes", "more than 1EB". */
static bool asks_beyond(struct text line) {
    static const char eib[] = "1152921504606846976";
    if (log_has(line, "ried to allocate more than 1EB") || log_has(line, " EiB for an array"))
        return true;
    for (const struct log_figure *figure = asked; figure->words != NULL; figure++) {
        uint32_t at = figure->place == BEHIND ? log_find(line, 0, figure->words) : LOG_NONE, n = 0;
        at = at != LOG_NONE ? log_skip(line, at + (uint32_t)strlen(figure->words)) : line.nbytes;
        while (at + n < line.nbytes && line.at[at + n] >= '0' && line.at[at + n] <= '9')
            n++;
        if (n >= sizeof eib || (n == sizeof eib - 1 && memcmp(line.at + at, eib, n) >= 0))
            return true;
    }
    return false;
}

static void oom_read(struct text line, struct log_row *row) {
    (void)log_figures_read(line, asked, row);
    tensor_read(line, row);
    if (asks_beyond(line))
        log_know(row, NOTE_ASKED_BEYOND, UINT64_C(1) << 60);
    (void)log_figures_read(line, told, row);
    log_backend_read(line, row);
    gpu_read(line, row);
    processes_read(line, row);
    log_setting_read(line, row);
    hbm_read(line, row);
    if (has_tables(row))
        bfc_read(line, row);
}

/* Completes the figures. Since 2.1 the reserved bytes are printed in two parts. If this process is not named among
 * the others, it is unknown which of them it is. MPS prints no reserved bytes. */
static void oom_complete(struct log_row *row, bool since_2_1) {
    if (!log_knows(row, NOTE_RESERVED) && log_knows(row, NOTE_ALLOCATED) && log_knows(row, NOTE_UNALLOCATED))
        log_know(row, NOTE_RESERVED, row->value[NOTE_ALLOCATED] + row->value[NOTE_UNALLOCATED]);
    if (!log_knows(row, NOTE_UNALLOCATED) && log_knows(row, NOTE_RESERVED) &&
        log_knows(row, NOTE_ALLOCATED) && row->value[NOTE_RESERVED] >= row->value[NOTE_ALLOCATED])
        log_know(row, NOTE_UNALLOCATED, row->value[NOTE_RESERVED] - row->value[NOTE_ALLOCATED]);
    if (log_knows(row, NOTE_DEVICE_TOTAL) && log_knows(row, NOTE_DEVICE_FREE) &&
        row->value[NOTE_DEVICE_TOTAL] >= row->value[NOTE_DEVICE_FREE] &&
        (row->value[NOTE_DEVICE_TOTAL] != row->value[NOTE_DEVICE_FREE] ||
         row->value[NOTE_RESERVED] == 0)) /* otherwise too few decimals are printed */
        log_know(row, NOTE_DEVICE_USED, row->value[NOTE_DEVICE_TOTAL] - row->value[NOTE_DEVICE_FREE]);
    if (!log_knows(row, NOTE_PROCESS_USED))
        log_forget(row, NOTE_OTHERS_USED);
    log_setting_complete(row, since_2_1);
}

/* How many more lines the message may have. */
static uint32_t lines_left(const struct log_row *row) {
    if (has_tables(row))
        return TABLE_LINES;
    if (log_knows(row, NOTE_SETTING))
        return 0;
    return log_knows(row, NOTE_UNALLOCATED) || log_knows(row, NOTE_RESERVED) ? HINT_LINES : OOM_LINES;
}

static void oom_show(struct log_oom *oom, const struct log_row *raw, struct text line) {
    oom->since_2_1 |= log_has(line, unallocated);
    oom->raw = oom->row = *raw;
    if (log_knows(raw, NOTE_ASKED) && oom->asked[oom->n_asked % OOM_SIZES] != raw->value[NOTE_ASKED])
        oom->asked[++oom->n_asked % OOM_SIZES] = raw->value[NOTE_ASKED];
    oom->row.is_oom = true;
    oom_complete(&oom->row, oom->since_2_1);
    oom->lines_left = lines_left(raw);
}

/* The words as the text of an error, not in a sentence: "RuntimeError: XPU out of memory", "CUDA error: out of memory",
 * "Cuda failure 2 'out of memory'", "[CUDA] out of memory". */
static bool is_errors_text(struct text line) {
    static const char *const names[] = {"cuda", "Cuda", "CUDA", "HIP", "rror"};
    uint32_t at = log_find(line, 0, "out of memory");
    struct text head = {line.at, at != LOG_NONE ? at : 0};
    if (!text_contains_any(head, names, sizeof names / sizeof *names))
        return false;
    while (text_ends(head, " ") || is_digit(head.at[head.nbytes - 1]))
        head.nbytes--;
    if (text_ends(head, "rror") || strchr(":'(]", head.at[head.nbytes - 1]) != NULL)
        return true;
    while (head.nbytes > 0 && head.at[head.nbytes - 1] >= 'A' && head.at[head.nbytes - 1] <= 'Z')
        head.nbytes--;
    return text_ends(head, "Error: ");
}

static bool is_bare(struct text line) {
    if (log_is_python(line) || is_errors_text(line) || text_ends(log_message(line), ": out of memory"))
        return true;
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        if (log_has(line, bare[i]))
            return true;
    return false;
}

/* Does the line name the size of a request, in an allocator's message? Not "Unable to allocate 3 GiB of disk". */
static bool is_full(struct text line) {
    static const char *const sure[] = {"out of memory",
                                       "Out of memory",
                                       "RESOURCE_EXHAUSTED",
                                       "Tried to allocate",
                                       "PT_DEVMEM",
                                       "SYNHELPER",
                                       "ggml_vulkan: Device memory",
                                       "metal::malloc",
                                       "[malloc_or_wait]",
                                       "DefaultCPUAllocator",
                                       "Buy new RAM",
                                       "MemoryError: malloc",
                                       "for an array with shape",
                                       "Invalid buffer size",
                                       "Failed to allocate memory for requested buffer",
                                       "failed to allocate buffer of size",
                                       "could not be allocated",
                                       "OUT_OF_MEMORY",
                                       "OutOfMemory",
                                       "Failed to CUDA calloc",
                                       "Could not allocate tensor",
                                       "KV cache is needed",
                                       "less than desired GPU memory",
                                       " from device: ",
                                       "Memory resources are exhausted",
                                       "smaller than requested bytes",
                                       "alloc DEVICE memory:",
                                       "memory object allocation",
                                       "in AlignedAllocator"};
    uint64_t nbytes;
    if (log_has(line, "this is not a failure"))
        return false;
    for (const struct log_figure *figure = asked; figure->words != NULL; figure++)
        if (log_figure_find(line, figure, &nbytes) || (figure == asked && asks_beyond(line)))
            return text_contains_any(line, sure, sizeof sure / sizeof *sure) || log_has(line, "hbm") ||
                   log_has(line, "Ran out of memory");
    return false;
}

/* Keeps the end of a line that was wrapped within a phrase or a word, for the next line to continue. */
static void tail_keep(struct log_oom *oom, struct text line) {
    oom->tail_nbytes = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(oom->tail, line.at + line.nbytes - oom->tail_nbytes, oom->tail_nbytes);
}

/* Reads figures whose words are split between the end of the line before and the beginning of this one. */
static void seam_read(struct log_oom *oom, struct text line, struct log_row *row) {
    uint8_t seam[2 * OOM_TAIL + 1];
    line = text_from(line, log_skip(line, 0));
    uint32_t n = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(seam, oom->tail, oom->tail_nbytes);
    for (uint32_t blank = 0; blank < 2; blank++) {
        uint32_t begin = oom->tail_nbytes + blank;
        seam[oom->tail_nbytes] = ' ';
        memcpy(seam + begin, line.at, n);
        struct text text = {seam, begin + n};
        (void)log_figures_read(text, asked, row);
        (void)log_figures_read(text, told, row);
        log_setting_read(text, row);
        oom->since_2_1 |= log_has(text, unallocated);
    }
}

static enum log_oom_seen oom_begin(struct log_oom *oom, struct text line, const struct log_row *fresh,
                                   bool full) {
    struct log_row row = *fresh;
    oom_read(line, &row);
    row.is_raised = log_find(line, 0, "Error: ") < log_find(line, 0, "ried to allocate");
    oom->n_full += full;
    oom->n_bare += !full;
    oom->since_2_1 = false;
    tail_keep(oom, line);
    oom_show(oom, &row, line);
    return LOG_OOM_BEGINS;
}

/* Other processes may write between the lines of an error. */
static enum log_oom_seen oom_go_on(struct log_oom *oom, struct text line) {
    struct log_row row = oom->raw;
    seam_read(oom, line, &row);
    oom_read(line, &row);
    tail_keep(oom, line);
    if (row.known == oom->raw.known && strcmp(row.setting, oom->raw.setting) == 0) {
        oom->lines_left--;
        return LOG_OOM_NOTHING;
    }
    if (!log_knows(&oom->raw, NOTE_ASKED) && log_knows(&row, NOTE_ASKED) && oom->n_bare != 0) {
        oom->n_bare--;
        oom->n_full++;
    }
    row.label = oom->row.label;
    row.stack = oom->row.stack;
    oom_show(oom, &row, line);
    return LOG_OOM_MORE;
}

/* Equal up to two decimals of the larger unit: "1.17GiB" is 1256277760 bytes. */
static bool is_printed_as(uint64_t a, uint64_t b) {
    return distance_of(a, b) <= a / 100;
}

/* XLA reports one request in the lines of its allocator, of its client and of the exception. */
static bool tells_again(const struct log_oom *oom, struct text line) {
    struct log_row row = {.gpu = LOG_NO_DEVICE};
    oom_read(line, &row);
    bool xla = has_tables(&oom->raw) && strcmp(row.backend, "XLA") == 0;
    return (xla || (strcmp(oom->raw.backend, "TensorRT") == 0 && strcmp(row.backend, "TensorRT") == 0)) &&
           log_knows(&oom->raw, NOTE_ASKED) &&
           is_printed_as(row.value[NOTE_ASKED], oom->raw.value[NOTE_ASKED]);
}

/* TensorFlow names a request in several lines, by its tensor: a size that no recent line has named is a new request. */
static bool asks_anew(const struct log_oom *oom, struct text line) {
    struct log_row row = {.gpu = LOG_NO_DEVICE};
    tensor_read(line, &row);
    for (uint32_t i = 0; i < OOM_SIZES && log_knows(&row, NOTE_ASKED); i++)
        if (is_printed_as(row.value[NOTE_ASKED], oom->asked[i]))
            return false;
    return log_knows(&row, NOTE_ASKED);
}

enum log_oom_seen log_oom_line(struct log_oom *oom, struct text line, const struct log_row *fresh) {
    bool open = oom->lines_left != 0, full = is_full(line);
    if (full && open && tells_again(oom, line))
        return LOG_OOM_AGAIN;
    if (full && (!open || log_knows(&oom->raw, NOTE_ASKED)))
        return oom_begin(oom, line, fresh, true);
    if (open) {
        enum log_oom_seen seen = oom_go_on(oom, line);
        if (seen != LOG_OOM_NOTHING)
            return seen;
    }
    if (!is_bare(line))
        return LOG_OOM_NOTHING;
    return oom->n_full + oom->n_bare != 0 && !asks_anew(oom, line) ? LOG_OOM_AGAIN
                                                                   : oom_begin(oom, line, fresh, false);
}

bool log_oom_same(const struct log_row *a, const struct log_row *b) {
    if (a->known != b->known || a->gpu != b->gpu)
        return false;
    for (unsigned what = 0; what < NOTE_KINDS; what++)
        if (log_knows(a, (enum note_what)what) && a->value[what] != b->value[what])
            return false;
    return true;
}
