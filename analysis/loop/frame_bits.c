#include "analysis/loop/frame_bits.h"

#include "base/bytes.h"
#include "layout/place.h"
#include "layout/site.h"

/* ---- marks of a text as a file ---- */

enum {
    MARK_KNOWN = 1,
    FILE_PYTHON = 2,
    FILE_AUTOGRAD = 4,
    FILE_FUNCTORCH = 8,
    FILE_CHECKPOINT = 16,
    FILE_OPTIMIZERS = 32,      /* a folder of optimizers */
    FILE_SCHEDULER = 64,       /* in a folder of optimizers, but is none */
    FILE_OPTIMIZER_PY = 128,   /* torch/optim/optimizer.py, which calls the step of every subclass */
    FILE_OPTIMIZER_LIKE = 256, /* named like an optimizer */
    FILE_MODULES = 512,
    FILE_PARAMETERS = 1024,
    FILE_DATA = 2048,
    FILE_NONE = 4096,
    FILE_CONTEXT = 8192,
    FILE_SHARDS = 16384, /* makes parameters and states alike */
    FILE_LOADS = 32768
};

static const struct text_word path_words[] = {
    {"torch/_tensor.py", WORD_INSIDE, FILE_AUTOGRAD},
    {"torch/autograd/__init__.py", WORD_INSIDE, FILE_AUTOGRAD},
    {"torch/autograd/graph.py", WORD_INSIDE, FILE_AUTOGRAD},
    {"torch/_functorch/", WORD_INSIDE, FILE_FUNCTORCH},
    {"torch/utils/checkpoint.py", WORD_INSIDE, FILE_CHECKPOINT},
    {"torch/utils/_contextlib.py", WORD_INSIDE, FILE_CONTEXT},
    {"torch/autograd/grad_mode.py", WORD_INSIDE, FILE_CONTEXT},
    {"torch/optim/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"apex/optimizers/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"bitsandbytes/optim/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"deepspeed/ops/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"deepspeed/runtime/zero/", WORD_INSIDE, FILE_OPTIMIZERS | FILE_SHARDS},
    {"zero/parti", WORD_INSIDE, FILE_SCHEDULER}, /* partition_parameters.py, partitioned_param_*.py */
    {"zero/parameter_offload.py", WORD_INSIDE, FILE_SCHEDULER},
    {"torchao/optim/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"torchao/prototype/low_bit_optim/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"torch_npu/optim/", WORD_INSIDE, FILE_OPTIMIZERS},
    {"lr_scheduler", WORD_INSIDE, FILE_SCHEDULER},
    {"swa_utils", WORD_INSIDE, FILE_SCHEDULER},
    {"torch/optim/optimizer.py", WORD_ENDS, FILE_OPTIMIZER_PY},
    {"torch/nn/modules/", WORD_INSIDE, FILE_MODULES},
    {"torch/nn/parameter.py", WORD_INSIDE, FILE_PARAMETERS},
    {"torch/nn/init.py", WORD_INSIDE, FILE_PARAMETERS},
    {"torch/serialization.py", WORD_INSIDE, FILE_PARAMETERS | FILE_LOADS},
    {"safetensors", WORD_INSIDE, FILE_PARAMETERS | FILE_LOADS},
    {"flat_param.py", WORD_INSIDE, FILE_PARAMETERS},
    {"_fsdp_param.py", WORD_INSIDE, FILE_PARAMETERS},
    {"torch/utils/data/", WORD_INSIDE, FILE_DATA},
};

static const struct text_word base_name_words[] = {
    {"optim", WORD_INSIDE, FILE_OPTIMIZER_LIKE},     {"adam", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
    {"sgd", WORD_INSIDE, FILE_OPTIMIZER_LIKE},       {"muon", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
    {"lion", WORD_INSIDE, FILE_OPTIMIZER_LIKE},      {"lamb", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
    {"shampoo", WORD_INSIDE, FILE_OPTIMIZER_LIKE},   {"soap", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
    {"adafactor", WORD_INSIDE, FILE_OPTIMIZER_LIKE}, {"adagrad", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
    {"rmsprop", WORD_INSIDE, FILE_OPTIMIZER_LIKE},   {"lbfgs", WORD_INSIDE, FILE_OPTIMIZER_LIKE},
};

/* ---- marks of a text as the name of a function ---- */

enum {
    NAME_BACKWARD = 2,  /* in torch's own autograd files */
    NAME_BACKWARDS = 4, /* in any file */
    NAME_CALLED_BACKWARD = 8,
    NAME_RECOMPUTES = 16,
    NAME_NO_STEP = 32, /* functions of an optimizer other than its step */
    NAME_WRAPPER = 64,
    NAME_STEP = 128,
    NAME_STATE = 256,
    NAME_FORWARD = 512,
    NAME_OF_MODULE = 1024, /* functions that make, fill or move a module */
    NAME_LOADS = 2048,
    NAME_INIT = 4096,
    NAME_DATA = 8192,
    /* C++ */
    NATIVE_ENGINE = 1 << 14,
    NATIVE_ACCUMULATE = 1 << 15,
    NATIVE_KERNEL = 1 << 16,
    NATIVE_BACKWARD = 1 << 17,
    NATIVE_HOST = 1 << 18,
    NATIVE_WORK = 1 << 19,
    NATIVE_VARIABLE = 1 << 20,
    NATIVE_NODE = 1 << 21, /* applies a node of the graph */
    NATIVE_CAST = 1 << 22,
    /* Python again */
    NAME_ZERO_GRAD = 1 << 23,
    NAME_FOREACH = 1 << 24,
    NAME_SINGLE = 1 << 25,
    NAME_CACHE = 1 << 26,  /* room for keys and values */
    NAME_BUCKET = 1 << 27, /* room for gradients that ranks exchange */
    NAME_GATHER = 1 << 28,
    NAME_REDUCE = 1 << 29,
    NAME_ROOT = 1 << 30
};

static const struct text_word name_words[] = {
    {"backward", WORD_WHOLE, NAME_BACKWARD | NAME_CALLED_BACKWARD},
    {"_engine_run_backward", WORD_WHOLE, NAME_BACKWARD},
    {"grad", WORD_WHOLE, NAME_BACKWARD},
    {"_backward_impl", WORD_WHOLE, NAME_BACKWARDS},
    {"call_compiled_backward", WORD_WHOLE, NAME_BACKWARDS},
    {"_backward_prologue", WORD_WHOLE, NAME_BACKWARDS},
    {"_pre_backward_hook", WORD_WHOLE, NAME_BACKWARDS},
    {"_post_backward_hook", WORD_WHOLE, NAME_BACKWARDS},
    {"_pre_backward", WORD_WHOLE, NAME_BACKWARDS},
    {"post_backward", WORD_WHOLE, NAME_BACKWARDS},
    {"pre_sub_module_backward_function", WORD_WHOLE, NAME_BACKWARDS},
    {"<module>", WORD_WHOLE, NAME_ROOT},
    {"_bootstrap", WORD_WHOLE, NAME_ROOT},
    {"unpack_hook", WORD_WHOLE, NAME_RECOMPUTES},
    {"recompute_fn", WORD_WHOLE, NAME_RECOMPUTES},
    {"recompute", WORD_WHOLE, NAME_RECOMPUTES},
    {"__init__", WORD_WHOLE, NAME_NO_STEP | NAME_INIT | NAME_OF_MODULE},
    {"zero_grad", WORD_WHOLE, NAME_NO_STEP | NAME_ZERO_GRAD},
    {"add_param_group", WORD_WHOLE, NAME_NO_STEP},
    {"load_state_dict", WORD_WHOLE, NAME_NO_STEP | NAME_LOADS},
    {"wrapper", WORD_WHOLE, NAME_WRAPPER},
    {"profile_hook_step", WORD_WHOLE, NAME_WRAPPER},
    {"step", WORD_WHOLE, NAME_STEP},
    {"step_param", WORD_WHOLE, NAME_STEP},
    {"_single_tensor_", WORD_BEGINS, NAME_STEP},
    {"_multi_tensor_", WORD_BEGINS, NAME_STEP},
    {"_single_tensor_", WORD_INSIDE, NAME_SINGLE},
    {"_multi_tensor_", WORD_INSIDE, NAME_FOREACH},
    {"_foreach_", WORD_INSIDE, NAME_FOREACH},
    {"_fused_", WORD_BEGINS, NAME_STEP},
    {"_init_group", WORD_WHOLE, NAME_STEP | NAME_STATE},
    {"_init_state", WORD_WHOLE, NAME_STATE},
    {"state_init", WORD_WHOLE, NAME_STATE},
    {"forward", WORD_WHOLE, NAME_FORWARD},
    {"_call_impl", WORD_WHOLE, NAME_FORWARD},
    {"_wrapped_call_impl", WORD_WHOLE, NAME_FORWARD},
    {"_slow_forward", WORD_WHOLE, NAME_FORWARD},
    {"_apply", WORD_WHOLE, NAME_OF_MODULE},
    {"convert", WORD_WHOLE, NAME_OF_MODULE},
    {"to", WORD_WHOLE, NAME_OF_MODULE},
    {"cuda", WORD_WHOLE, NAME_OF_MODULE},
    {"to_empty", WORD_WHOLE, NAME_OF_MODULE},
    {"reset_parameters", WORD_WHOLE, NAME_OF_MODULE},
    {"_reset_parameters", WORD_WHOLE, NAME_OF_MODULE},
    {"half", WORD_WHOLE, NAME_OF_MODULE},
    {"float", WORD_WHOLE, NAME_OF_MODULE},
    {"double", WORD_WHOLE, NAME_OF_MODULE},
    {"bfloat16", WORD_WHOLE, NAME_OF_MODULE},
    {"_load_from_state_dict", WORD_WHOLE, NAME_LOADS},
    {"from_pretrained", WORD_WHOLE, NAME_LOADS},
    {"load_checkpoint", WORD_WHOLE, NAME_LOADS},
    {"build_model", WORD_WHOLE, NAME_LOADS},
    {"load_model", WORD_WHOLE, NAME_LOADS},
    {"load_weights", WORD_WHOLE, NAME_LOADS},
    {"distribute_tensor", WORD_WHOLE, NAME_LOADS},
    {"distribute_module", WORD_WHOLE, NAME_LOADS},
    {"init_weights", WORD_WHOLE, NAME_LOADS},
    {"_init_weights", WORD_WHOLE, NAME_LOADS},
    {"kv_cache", WORD_INSIDE, NAME_CACHE},
    {"_ddp_init_helper", WORD_WHOLE, NAME_BUCKET},
    {"alloc_all_gather_outputs", WORD_WHOLE, NAME_GATHER},
    {"init_all_gather_outputs", WORD_WHOLE, NAME_GATHER},
    {"all_gather_copy_in", WORD_INSIDE, NAME_GATHER},
    {"_alloc_padded_unsharded_flat_param", WORD_WHOLE, NAME_GATHER},
    {"_allgather_param", WORD_BEGINS, NAME_GATHER},
    {"all_gather_coalesced", WORD_WHOLE, NAME_GATHER},
    {"foreach_reduce", WORD_WHOLE, NAME_REDUCE},
    {"_reduce_grad", WORD_WHOLE, NAME_REDUCE},
    {"next_batch", WORD_ENDS, NAME_DATA},
    {"get_batch", WORD_ENDS, NAME_DATA},
    {"prefetch", WORD_ENDS, NAME_DATA},
    {"collate", WORD_ENDS, NAME_DATA},
    {"collate_fn", WORD_ENDS, NAME_DATA},
    {"send_to_device", WORD_ENDS, NAME_DATA},
    {"_prepare_inputs", WORD_ENDS, NAME_DATA},
};

static const struct text_word native_words[] = {
    {"torch::autograd::Engine::", WORD_INSIDE, NATIVE_ENGINE},
    {"autograd::python::PythonEngine", WORD_INSIDE, NATIVE_ENGINE},
    {"autograd::engine::evaluate_function", WORD_INSIDE, NATIVE_ENGINE},
    {"AccumulateGrad", WORD_INSIDE, NATIVE_ACCUMULATE},
    {"clone_obey_contract", WORD_INSIDE, NATIVE_ACCUMULATE},
    {"at::native::", WORD_INSIDE, NATIVE_KERNEL},
    {"_backward", WORD_INSIDE, NATIVE_BACKWARD},
    {"VariableType", WORD_INSIDE, NATIVE_VARIABLE},
    {"_to_copy", WORD_INSIDE, NATIVE_HOST},
    {"THPVariable_to(", WORD_INSIDE, NATIVE_HOST},
    {"THPVariable_cuda", WORD_INSIDE, NATIVE_HOST},
    {"tensor_new", WORD_INSIDE, NATIVE_HOST},
    {"_ops::rand", WORD_INSIDE, NATIVE_HOST}, /* rand, randn, randint */
    {"dispatch_to(", WORD_INSIDE, NATIVE_HOST},
    {"getNewWorkspace", WORD_INSIDE, NATIVE_WORK},
    {"getCUDABlasLtWorkspace", WORD_INSIDE, NATIVE_WORK},
    {"run_conv_plan", WORD_INSIDE, NATIVE_WORK},
    {"run_fusion_plan", WORD_INSIDE, NATIVE_WORK},
    {"at::cuda::cub::", WORD_INSIDE, NATIVE_WORK},
    {"ThrustAllocator", WORD_INSIDE, NATIVE_WORK},
    {"Workspace", WORD_INSIDE, NATIVE_WORK},
    {"ProcessGroupNCCL", WORD_INSIDE, NATIVE_WORK},
    {"c10d::", WORD_INSIDE, NATIVE_WORK},
    {"nccl", WORD_INSIDE, NATIVE_WORK},
    {"symmetric_memory", WORD_INSIDE, NATIVE_WORK},
    {"CuFFT", WORD_INSIDE, NATIVE_WORK},
    {"cusparse", WORD_INSIDE, NATIVE_WORK},
    {"cached_cast", WORD_INSIDE, NATIVE_CAST},
};

/* ---- frames ---- */

struct vocabulary {
    struct text_words path, base_name, name, native;
};

#define WORDS_INIT(table, words) text_words_init(&(table), (words), sizeof(words) / sizeof *(words))

static void vocabulary_init(struct vocabulary *vocabulary) {
    WORDS_INIT(vocabulary->path, path_words);
    WORDS_INIT(vocabulary->base_name, base_name_words);
    WORDS_INIT(vocabulary->name, name_words);
    WORDS_INIT(vocabulary->native, native_words);
}

static uint32_t file_marks(const struct vocabulary *vocabulary, struct text file) {
    return MARK_KNOWN | (file_is_python(file) ? FILE_PYTHON : 0u) | (file_is_none(file) ? FILE_NONE : 0u) |
           text_marks(&vocabulary->path, file) | text_marks(&vocabulary->base_name, text_base_name(file));
}

static uint32_t name_marks(const struct vocabulary *vocabulary, struct text name) {
    struct text node;
    return MARK_KNOWN | text_marks(&vocabulary->name, name) | text_marks(&vocabulary->native, name) |
           (place_node(name, &node) ? NATIVE_NODE : 0u);
}

static uint32_t backward_bits(uint32_t file, uint32_t name) {
    bool backward = ((file & FILE_AUTOGRAD) && (name & NAME_BACKWARD)) || (name & NAME_BACKWARDS) ||
                    ((file & FILE_FUNCTORCH) && (name & NAME_CALLED_BACKWARD)) ||
                    ((file & FILE_CHECKPOINT) && (name & (NAME_RECOMPUTES | NAME_CALLED_BACKWARD)));
    return backward ? BIT_BACKWARD : 0;
}

static uint32_t optimizer_bits(uint32_t file, uint32_t name) {
    bool optimizers = (file & FILE_OPTIMIZERS) && !(file & FILE_SCHEDULER);
    bool step = (optimizers && !(name & NAME_NO_STEP)) ||
                ((file & FILE_OPTIMIZER_PY) && (name & NAME_WRAPPER)) ||
                ((file & FILE_OPTIMIZER_LIKE) && !(file & FILE_SCHEDULER) && (name & NAME_STEP));
    bool state =
        (name & NAME_STATE) || (optimizers && !(file & FILE_SHARDS) && (name & (NAME_INIT | NAME_LOADS)));
    return (uint32_t)((step ? BIT_OPTIMIZER : 0) | (state ? BIT_STATE : 0));
}

/* How the optimizer goes over the parameters: foreach or single. */
static uint32_t way_bits(uint32_t name) {
    return (name & NAME_FOREACH ? BIT_FOREACH : 0u) | (name & NAME_SINGLE ? BIT_SINGLE : 0u);
}

static uint32_t python_bits(uint32_t file, uint32_t name) {
    bool parameter =
        ((file & FILE_MODULES) && (name & NAME_OF_MODULE)) || (name & NAME_LOADS) || (file & FILE_PARAMETERS);
    bool data = (file & FILE_DATA) || (name & NAME_DATA);
    return (uint32_t)(BIT_PYTHON | backward_bits(file, name) | optimizer_bits(file, name) |
                      (name & NAME_FORWARD ? BIT_FORWARD : 0) | (parameter ? BIT_PARAMETER : 0) |
                      (name & NAME_INIT ? BIT_INIT : 0) | (data ? BIT_DATA : 0) |
                      (name & NAME_ZERO_GRAD ? BIT_ZERO_GRAD : 0) | (name & NAME_CACHE ? BIT_CACHE : 0) |
                      (name & NAME_BUCKET ? BIT_WORK : 0) | (name & NAME_GATHER ? BIT_GATHER : 0) |
                      (name & NAME_REDUCE ? BIT_REDUCE : 0) | (file & FILE_CONTEXT ? BIT_NO_GRAD : 0) |
                      (file & FILE_CHECKPOINT ? BIT_CHECKPOINT : 0) | (file & FILE_LOADS ? BIT_LOAD : 0) |
                      (name & NAME_ROOT ? BIT_ROOT : 0) | way_bits(name));
}

static uint32_t native_bits(uint32_t name) {
    bool node = (name & NATIVE_NODE) && !(name & NATIVE_VARIABLE);
    bool kernel = (name & NATIVE_KERNEL) && (name & NATIVE_BACKWARD);
    return (uint32_t)(BIT_NATIVE | (node || (name & (NATIVE_ENGINE | NATIVE_ACCUMULATE)) ? BIT_BACKWARD : 0) |
                      (name & NATIVE_ACCUMULATE ? BIT_ACCUMULATE : 0) | (kernel ? BIT_KERNEL : 0) |
                      (name & NATIVE_HOST ? BIT_HOST : 0) | (name & NATIVE_WORK ? BIT_WORK : 0) |
                      (name & NATIVE_CAST ? BIT_CAST : 0) | way_bits(name));
}

/* Bits of each string so far; 0: not looked at yet. */
struct known {
    uint32_t *file, *name;
    uint32_t *place; /* bits of a profiler's frame with this name */
    struct vocabulary vocabulary;
};

static uint32_t known_file(struct known *known, const struct trace *trace, uint32_t string) {
    if (known->file[string] == 0)
        known->file[string] = file_marks(&known->vocabulary, trace_text(trace, string));
    return known->file[string];
}

static uint32_t known_name(struct known *known, const struct trace *trace, uint32_t string) {
    if (known->name[string] == 0)
        known->name[string] = name_marks(&known->vocabulary, trace_text(trace, string));
    return known->name[string];
}

/* Bits of a frame that has only a name. */
static uint32_t bare_bits(struct known *known, const struct trace *trace, uint32_t name) {
    struct place place;
    if (known->place[name] == 0)
        known->place[name] = place_of_profiler(trace_text(trace, name), &place)
                                 ? python_bits(file_marks(&known->vocabulary, place.file),
                                               name_marks(&known->vocabulary, place.name))
                                 : native_bits(known_name(known, trace, name));
    return known->place[name];
}

static uint32_t frame_bits(struct known *known, const struct trace *trace, uint32_t id) {
    const struct frame *frame = &trace->frames.frame[id];
    uint32_t file = known_file(known, trace, frame->file);
    if (file & FILE_PYTHON)
        return python_bits(file, known_name(known, trace, frame->name));
    if (frame->line == 0 && (file & FILE_NONE))
        return bare_bits(known, trace, frame->name);
    return native_bits(known_name(known, trace, frame->name));
}

bool frames_bits(const struct trace *trace, uint32_t *bits, struct arena *arena) {
    if (trace->frames.bits != NULL) {
        bytes_copy(bits, trace->frames.bits, trace->frames.count * sizeof *bits);
        return true;
    }
    size_t n = trace->strings.count;
    struct known known = {.file = arena_zeros(arena, n, sizeof(uint32_t)),
                          .name = arena_zeros(arena, n, sizeof(uint32_t)),
                          .place = arena_zeros(arena, n, sizeof(uint32_t))};
    if (known.file == NULL || known.name == NULL || known.place == NULL)
        return false;
    vocabulary_init(&known.vocabulary);
    bits[0] = 0;
    for (uint32_t i = 1; i < trace->frames.count; i++)
        bits[i] = frame_bits(&known, trace, i);
    ARENA_DROP(arena, known.file, known.name, known.place);
    return true;
}

bool frames_keep(struct trace *trace) {
    if (trace->n_devices < 2 || trace->frames.bits != NULL)
        return true;
    uint8_t *rank;
    uint32_t *bits;
    if (!ARENA_COLUMNS(&trace->arena, trace->frames.count, rank, bits) ||
        !frames_rank(trace, rank, &trace->arena) || !frames_bits(trace, bits, &trace->arena))
        return false;
    trace->frames.rank = rank;
    trace->frames.bits = bits;
    return true;
}

/* ---- stacks ---- */

static uint32_t stack_bits(uint32_t outer, uint32_t own) {
    uint32_t bits = outer | own;
    if (own & BIT_BACKWARD)
        bits = bits & ~(uint32_t)BIT_OPTIMIZER_INSIDE;
    else if ((own & BIT_OPTIMIZER) && (outer & BIT_BACKWARD))
        bits |= BIT_OPTIMIZER_INSIDE;
    if ((own & BIT_BACKWARD) && (outer & BIT_FORWARD) && !(outer & BIT_BACKWARD))
        bits |= BIT_BACKWARD_WITHIN;
    if (own & BIT_OPTIMIZER)
        bits = bits & ~(uint32_t)BIT_FORWARD_INSIDE;
    else if ((own & BIT_FORWARD) && (outer & BIT_OPTIMIZER))
        bits |= BIT_FORWARD_INSIDE;
    return bits;
}

/* The stack's parent is done before it. */
void stacks_bits(const struct trace *trace, const uint32_t *frame_bits, uint32_t *bits) {
    bits[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bits[i] = stack_bits(bits[stack_parent(&trace->stacks, i)], frame_bits[trace->stacks.frame[i]]);
    }
}
