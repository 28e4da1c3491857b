#include "parser/log/log_oom.h"

#include "parser/log/log_pieces.h"

#include <string.h>

/* Whose allocator it was, by a word of the message. */
static const struct {
    const char *words, *backend;
} backends[] = {{"CUDA out of memory", "CUDA"},
                {"HIP out of memory", "HIP"},
                {"XPU out of memory", "XPU"},
                {"MPS backend", "MPS"},
                {"NPU out of memory", "NPU"},
                {"MTIA out of memory", "MTIA"},
                {"MLU out of memory", "MLU"},
                {"MUSA out of memory", "MUSA"},
                {"GCU out of memory", "GCU"},
                {"KV cache is needed", "vLLM"},
                {"less than desired GPU memory", "vLLM"},
                {"stored in KV cache", "vLLM"},
                {"for the cache blocks", "vLLM"},
                {"--mem-fraction-static", "SGLang"},
                {"in AlignedAllocator", "FlashInfer"},
                {"memory space hbm", "XLA"},
                {"(NPU ", "NPU"},
                {"resource[DeviceMemory]", "NPU"},
                {"Failed to apply for memory.", "NPU"},
                {"(MLU ", "MLU"},
                {"can NOT allocate memory block", "Level Zero"},
                {"_RESULT_ERROR_OUT_OF_", "XPU"},
                {"PI_ERROR_OUT_OF_", "XPU"},
                {"out of device memory on current platform", "XPU"},
                {"_bfc)", "BFC"},
                {"device:CPU:0 by allocator", "CPU"},
                {"for an array with shape", "CPU"},
                {"OOM when allocating tensor", "BFC"},
                {"from device: ", "BFC"},
                {"RESOURCE_EXHAUSTED", "XLA"},
                {"Resource exhausted", "XLA"},
                {"HBM", "XLA"},
                {"PT_DEVMEM", "HPU"},
                {"SYNHELPER", "HPU"},
                {"metal::malloc", "MLX"},
                {"RayOutOfMemoryError", "CPU"},
                {"alloc DEVICE memory:", "Neuron"},
                {"memory object allocation", "OpenVINO"},
                {"CL_OUT_OF_RESOURCES", "OpenVINO"},
                {"out of GPU resources", "OpenVINO"},
                {"[malloc_or_wait]", "MLX"},
                {"out of memory to allocate", "CuPy"},
                {"(allocated so far:", "CuPy"},
                {"Invalid buffer size", "MPS"},
                {"kIOGPU", "Metal"},
                {": Insufficient Memory", "Metal"},
                {"requested buffer of size", "ONNX"},
                {"smaller than requested bytes", "ONNX"},
                {"memory on GPU", "Paddle"},
                {"available memory is", "Paddle"},
                {"cudaMalloc failed", "ggml"},
                {"ggml_vulkan", "ggml"},
                {"ggml_backend_cpu", "CPU"},
                {"[mindspore/", "MindSpore"},
                {"OutOfMemory (", "TensorRT"},
                {"GPU memory (", "TensorRT"},
                {"[TensorRT", "TensorRT"},
                {"[WinError 1455]", "CPU"},
                {"Buy new RAM", "CPU"},
                {"shared memory", "shm"},
                {"</torch_", "shm"},
                {"/dev/shm/", "shm"},
                {"signal: Bus error", "shm"},
                {"GPU video memory", "DirectML"},
                {"RMM failure", "RMM"},
                {"cudaErrorMemoryAllocation", "CUDA"},
                {"std::bad_alloc", "CPU"},
                {"Cannot allocate memory", "CPU"},
                {"would exceed allowed memory", "CUDA"},
                {"DefaultCPUAllocator", "CPU"},
                {"CUDA error", "CUDA"},
                {"HIP error", "HIP"}};

/* "MemoryError", "pyarrow.lib.ArrowMemoryError: malloc of size 8 failed", but not "OutOfMemoryError" and its like. */
bool log_is_python(struct text line) {
    static const char *const names[] = {".ArrowMemoryError", "._ArrayMemoryError", ".MemoryError"};
    struct text name = log_message(line);
    uint32_t colon = log_find(name, 0, ":");
    name.nbytes = colon != LOG_NONE ? colon : name.nbytes;
    bool found = text_is(name, "MemoryError");
    for (size_t i = 0; i < sizeof names / sizeof *names && log_find(name, 0, " ") == LOG_NONE; i++)
        found |= text_ends(name, names[i]);
    return found;
}

void log_backend_read(struct text line, struct log_row *row) {
    static const char *const device[] = {"RMM failure", "cudaErrorMemoryAllocation"};
    if (row->backend[0] == '\0' && log_is_python(line) && !text_contains_any(line, device, 2))
        log_name_set(row->backend, word_text("CPU"));
    for (size_t i = 0; i < sizeof backends / sizeof *backends && row->backend[0] == '\0'; i++)
        if (log_has(line, backends[i].words))
            log_name_set(row->backend, word_text(backends[i].backend));
    if (strcmp(row->backend, "CPU") == 0 || strcmp(row->backend, "shm") == 0)
        row->gpu = LOG_HOST;
}

/* The variable that the message names: "PYTORCH_CUDA_ALLOC_CONF", since 2.9 "PYTORCH_ALLOC_CONF". */
static bool setting_named(struct text line, struct log_row *row) {
    for (uint32_t at = log_find(line, 0, "PYTORCH_"); at != LOG_NONE;
         at = log_find(line, at + 1, "PYTORCH_")) {
        uint32_t end = at;
        while (end < line.nbytes && ((line.at[end] >= 'A' && line.at[end] <= 'Z') || line.at[end] == '_'))
            end++;
        struct text name = {line.at + at, end - at};
        if (!text_ends(name, "_ALLOC_CONF"))
            continue;
        log_name_set(row->setting, name);
        return true;
    }
    return false;
}

/* Messages of 1.10 and later give the hint; Ascend's and Cambricon's give it without the variable's name. */
void log_setting_read(struct text line, struct log_row *row) {
    bool split = log_has(line, "max_split_size_mb"), expandable = log_has(line, "expandable_segments:True");
    if (setting_named(line, row) || split || expandable)
        log_know(row, NOTE_SETTING, expandable ? SETTING_EXPANDABLE : SETTING_MAX_SPLIT);
}

void log_setting_complete(struct log_row *row, bool since_2_1) {
    static const char *const names[][2] = {
        {"CUDA", "PYTORCH_CUDA_ALLOC_CONF"}, {"HIP", "PYTORCH_HIP_ALLOC_CONF"},
        {"NPU", "PYTORCH_NPU_ALLOC_CONF"},   {"MLU", "PYTORCH_MLU_ALLOC_CONF"},
        {"MUSA", "PYTORCH_MUSA_ALLOC_CONF"}, {"GCU", "PYTORCH_GCU_ALLOC_CONF"}};
    if (row->setting[0] != '\0' || (!log_knows(row, NOTE_SETTING) && !since_2_1))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(row->backend, names[i][0]) == 0) {
            log_name_set(row->setting, word_text(names[i][1]));
            log_know_first(row, NOTE_SETTING, SETTING_EXPANDABLE);
        }
}
