#include "layout/site.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "base/words.h"
#include "layout/place.h"

/*
 * The list of both viewers, for frames that are not Python. They look for "_start" anywhere in a name, which
 * also hides train_start() and cuBLAS' functions; here it must be the whole name or begin with __libc_start,
 * which is all that the C library's entry points are called.
 */
static bool is_noise_name(struct text name) {
    static const char *const names[] = {"unwind::unwind",  "CapturedTraceback::gather",
                                        "gather_with_cpp", "PyEval_",
                                        "PyObject_",       "PyFunction_"};
    return text_is(name, "_start") || text_begins(name, "__libc_start") ||
           text_contains_any(name, names, sizeof names / sizeof *names);
}

static bool is_noise_file(struct text file) {
    static const char *const files[] = {"core/boxing",
                                        "/Register",
                                        "/Redispatch",
                                        "pythonrun.c",
                                        "Modules/main.c",
                                        "Objects/call.c",
                                        "Objects/methodobject.c",
                                        "pycore_ceval.h",
                                        "ceval.c",
                                        "cpython/abstract.h"};
    return text_contains_any(file, files, sizeof files / sizeof *files);
}

/* A directory like lib/python3.11/ that holds Python's own files, not installed packages. */
static bool is_in_standard_library(struct text file) {
    for (uint32_t i = 0; i < file.nbytes; i++) {
        if (!text_has_at(file, i, "/lib/python3") && !text_has_at(file, i, "/lib64/python3"))
            continue;
        uint32_t after = i + 1;
        while (after < file.nbytes && !text_has_at(file, after, "/python3"))
            after++;
        for (after++; after < file.nbytes && !text_has_at(file, after, "/"); after++)
            continue;
        if (!text_has_at(file, after, "/site-packages/") && !text_has_at(file, after, "/dist-packages/"))
            return true;
    }
    return false;
}

/* Packages that are part of torch, wherever they are installed. */
static bool is_torch(struct text file) {
    static const char *const packages[] = {"-packages/torch/",     "-packages/torchgen/",
                                           "-packages/functorch/", "-packages/triton/",
                                           "-packages/torch_npu/", "/pytorch/torch/"};
    /* torch.compile's generated code: .../torchinductor_USER/ab/cabc.py */
    return text_contains_any(file, packages, sizeof packages / sizeof *packages) ||
           text_contains(file, "/torchinductor_") || text_begins(file, "torch/");
}

/*
 * Packages that stand between people and torch: their line says how something is written, not where it is used. Those
 * that people use as their model (torchvision, transformers, diffusers, timm, vllm) are not among them: their lines tell
 * a person more than the one that calls model(x). docs/report-reference.md lists both.
 */
static bool is_between(struct text file) {
    static const char *const packages[] = {"-packages/einops/",
                                           "-packages/einx/",
                                           "-packages/opt_einsum/",
                                           "-packages/jaxtyping/",
                                           "-packages/beartype/",
                                           "-packages/typeguard/",
                                           "-packages/wrapt/",
                                           "-packages/decorator.py",
                                           "-packages/typing_extensions.py",
                                           "-packages/deprecated/",
                                           "-packages/ipdb/",
                                           "-packages/pudb/",
                                           "-packages/line_profiler/",
                                           "-packages/memory_profiler.py",
                                           "-packages/tqdm/",
                                           "-packages/pluggy/",
                                           "-packages/_pytest/",
                                           "pydevd",
                                           "-packages/debugpy/",
                                           "-packages/tensordict/",
                                           "-packages/accelerate/",
                                           "-packages/peft/",
                                           "-packages/bitsandbytes/",
                                           "-packages/deepspeed/",
                                           "-packages/apex/",
                                           "-packages/xformers/",
                                           "-packages/flash_attn/",
                                           "-packages/fairscale/",
                                           "-packages/lightning/",
                                           "-packages/lightning_fabric/",
                                           "-packages/pytorch_lightning/",
                                           "-packages/ipykernel/",
                                           "-packages/IPython/",
                                           "-packages/tornado/",
                                           "-packages/traitlets/",
                                           "-packages/modal/",
                                           "-packages/absl/",
                                           "-packages/fire/",
                                           "-packages/hydra/",
                                           "-packages/click/",
                                           "-packages/ray/"};
    return text_contains_any(file, packages, sizeof packages / sizeof *packages);
}

/* Python's own library where its path does not say lib/python3: a Windows installation, a build of uv's. */
static bool is_in_other_standard_library(struct text file) {
    return !text_contains(file, "-packages/") &&
           ((text_contains(file, "cpython-3") && text_contains(file, "/lib/")) ||
            text_contains(file, "/Lib/"));
}

static bool is_library(struct text file) {
    return is_torch(file) || is_between(file) || is_in_other_standard_library(file) ||
           is_in_standard_library(file) || text_begins(file, "<frozen ") || text_is(file, "<string>") ||
           text_begins(file, "<eval_with_key>") || text_begins(file, "<@beartype(") ||
           text_begins(file, "<decorator-gen-");
}

/* ---- names of C++ ---- */

/* After the bracket that closes the one at `at`; the end of the text where none does. */
static uint32_t group_end(struct text text, uint32_t at) {
    uint8_t open = text.at[at], close = open == '<' ? '>' : open == '{' ? '}' : ')';
    uint32_t depth = 0;
    for (; at < text.nbytes; at++) {
        if (text.at[at] == open)
            depth++;
        else if (text.at[at] == close && text.at[at - 1] != '-' && --depth == 0) /* not the arrow -> */
            return at + 1;
    }
    return text.nbytes;
}

static bool is_after_operator(struct text name, uint32_t at) {
    return at >= 8 && text_has_at(name, at - 8, "operator");
}

/* The end of what is skipped as a whole at `at`: template arguments, "(anonymous namespace)", "operator()". `at`
 * itself: nothing is. */
static uint32_t native_skip(struct text name, uint32_t at) {
    static const char anonymous[] = "(anonymous namespace)";
    if (name.at[at] == '<' && is_after_operator(name, at))
        return at + 1;
    if (name.at[at] == '<' || name.at[at] == '{')
        return group_end(name, at);
    if (text_has_at(name, at, anonymous))
        return at + (uint32_t)sizeof anonymous - 1;
    if (text_has_at(name, at, "()") && is_after_operator(name, at))
        return at + 2;
    return at;
}

/* "at::Tensor at::native::mm(at::Tensor const&)" without its return type and parameters; the whole name where
 * there is no list of parameters. */
static struct text native_name(struct text name) {
    uint32_t begin = 0;
    for (uint32_t at = 0; at < name.nbytes;) {
        uint32_t behind = native_skip(name, at);
        if (behind != at) {
            at = behind;
            continue;
        }
        if (name.at[at] == '(')
            return at > begin ? (struct text){name.at + begin, at - begin} : name;
        if (name.at[at] == ' ' && !is_after_operator(name, at))
            begin = at + 1;
        at++;
    }
    return name;
}

/* The next stretch of a name outside of template arguments, from `*at` on. Empty: there is none. */
static struct text native_stretch(struct text name, uint32_t *at) {
    while (*at < name.nbytes && name.at[*at] == '<' && !is_after_operator(name, *at))
        *at = group_end(name, *at);
    uint32_t begin = *at;
    while (*at < name.nbytes && (name.at[*at] != '<' || is_after_operator(name, *at)))
        ++*at;
    return (struct text){name.at + begin, *at - begin};
}

/* Functions that every allocation passes on its way from the operator to the allocator: they say nothing about
 * why it was made. */
static bool is_plumbing(struct text name) {
    static const char *const parts[] = {"CachingAllocator",    "c10::Storage",        "empty_generic",
                                        "empty_strided",       "empty_cuda",          "empty_like",
                                        "memory_format_empty", "empty_memory_format", "at::detail::empty",
                                        "at::empty",           "at::_ops::empty",     "::resize_",
                                        "::create_out",        "::set_output_",       "TensorIteratorBase",
                                        "c10::impl::",         "c10::Dispatcher",     "c10::KernelFunction"};
    struct text own = native_name(name), stretch;
    for (uint32_t at = 0; (stretch = native_stretch(own, &at)).nbytes != 0;)
        if (text_contains_any(stretch, parts, sizeof parts / sizeof *parts))
            return true;
    return false;
}

/* ---- kinds and ranks ---- */

/* Marks of a text as a file, and as the name of a function. */
enum {
    FILE_KNOWN = 1,
    FILE_NONE = 2,
    FILE_PYTHON = 4,
    FILE_LIBRARY = 8,
    FILE_NOISE = 16,
    NAME_PLACE = 32, /* has a profiler's place in it */
    NAME_PLACE_LIBRARY = 64,
    NAME_NOISE = 128,
    NAME_PLUMBING = 256,
    NAME_NODE = 512,
    NAME_KNOWN = 1024
};

static unsigned file_marks(struct text file) {
    return FILE_KNOWN | (file_is_none(file) ? FILE_NONE : 0u) | (file_is_python(file) ? FILE_PYTHON : 0u) |
           (is_library(file) ? FILE_LIBRARY : 0u) | (is_noise_file(file) ? FILE_NOISE : 0u);
}

static unsigned name_marks(struct text name) {
    struct place place;
    struct text node;
    unsigned marks = NAME_KNOWN | (is_noise_name(name) ? NAME_NOISE : 0u) |
                     (is_plumbing(name) ? NAME_PLUMBING : 0u) |
                     (place_node(name, &node) && !text_contains(name, "VariableType") ? NAME_NODE : 0u);
    if (place_of_profiler(name, &place))
        marks |= NAME_PLACE | (is_library(place.file) ? NAME_PLACE_LIBRARY : 0u);
    return marks;
}

static enum frame_kind kind_of_marks(unsigned file, unsigned name, uint32_t line) {
    if ((file & FILE_NONE) && (name & NAME_PLACE) && line == 0)
        return name & NAME_PLACE_LIBRARY ? FRAME_LIBRARY : FRAME_USER;
    if (file & FILE_PYTHON)
        return file & FILE_LIBRARY ? FRAME_LIBRARY : FRAME_USER;
    return (file & FILE_NOISE) || (name & NAME_NOISE) ? FRAME_NOISE : FRAME_NATIVE;
}

enum { RANK_NODE = 2 * FRAME_NATIVE + 1 };

/* Ranks of a kind are next to each other: 2 * kind, for plumbing one less, and for a node of autograd's graph one more,
 * because what it calls says less than its name. */
static uint8_t rank_of_marks(unsigned file, unsigned name, uint32_t line) {
    unsigned kind = kind_of_marks(file, name, line);
    if (kind == FRAME_NATIVE && (name & NAME_NODE))
        return RANK_NODE;
    return (uint8_t)(2 * kind - (kind == FRAME_NATIVE && (name & NAME_PLUMBING)));
}

/* A given owner overrides the file's. In C++ a library's frame ranks no higher than the way through the
 * allocator. */
static uint8_t rank_of_owner(uint8_t rank, uint8_t owner) {
    bool python = rank >= 2 * FRAME_LIBRARY - 1 && rank != RANK_NODE;
    if (owner == OWNER_USER)
        return 2 * FRAME_USER;
    if (owner == OWNER_LIBRARY)
        return python ? 2 * FRAME_LIBRARY : rank < 2 * FRAME_NATIVE - 1 ? rank : 2 * FRAME_NATIVE - 1;
    return rank;
}

enum frame_kind frame_kind_of_rank(uint8_t rank) {
    return rank == RANK_NODE ? FRAME_NATIVE : (enum frame_kind)((rank + 1u) / 2);
}

static unsigned file_marks_of(const struct trace *trace, uint16_t *marks, uint32_t string) {
    if (!(marks[string] & FILE_KNOWN))
        marks[string] |= (uint16_t)file_marks(trace_text(trace, string));
    return marks[string];
}

static unsigned name_marks_of(const struct trace *trace, uint16_t *marks, uint32_t string) {
    if (!(marks[string] & NAME_KNOWN))
        marks[string] |= (uint16_t)name_marks(trace_text(trace, string));
    return marks[string];
}

bool frames_rank(const struct trace *trace, uint8_t *rank, struct arena *arena) {
    if (trace->frames.rank != NULL) {
        bytes_copy(rank, trace->frames.rank, trace->frames.count);
        return true;
    }
    uint16_t *marks = arena_column(arena, trace->strings.count, sizeof *marks);
    if (marks == NULL)
        return false;
    bytes_zero(marks, trace->strings.count * sizeof *marks);
    rank[0] = 2 * FRAME_NOISE;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        rank[i] = rank_of_marks(file_marks_of(trace, marks, frame->file),
                                name_marks_of(trace, marks, frame->name), frame->line);
        if (trace->frames.owner != NULL)
            rank[i] = rank_of_owner(rank[i], trace->frames.owner[i]);
    }
    ARENA_DROP(arena, marks);
    return true;
}

/* Among frames of equal rank the innermost wins; so the site of a stack is its own frame or the site of its
 * parent, which has been settled before. */
void sites_of_stacks(const struct trace *trace, const uint8_t *rank, uint32_t *site) {
    const struct stack_table *stacks = &trace->stacks;
    if (trace->stacks.count > 0)
        site[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        uint32_t outer = site[stack_parent(stacks, i)], own = stacks->frame[i];
        site[i] = own != 0 && (outer == 0 || rank[own] >= rank[outer]) ? own : outer;
    }
}

/* At either end of a text. No real name is so long, and hostile ones are shared by a million frames. */
enum { HASHED_NBYTES = 512 };

/* FNV-1a */
static uint32_t hash_bytes(uint32_t hash, struct text text) {
    for (uint32_t i = 0; i < text.nbytes; i++) {
        if (i == HASHED_NBYTES && text.nbytes > 2 * HASHED_NBYTES)
            i = text.nbytes - HASHED_NBYTES;
        hash = (hash ^ text.at[i]) * 16777619u;
    }
    return hash;
}

static uint32_t hash_number(uint32_t hash, uint32_t number) {
    for (uint32_t i = 0; i < 4; i++)
        hash = (hash ^ ((number >> (8 * i)) & 0xff)) * 16777619u;
    return hash;
}

static struct text text_tail(struct text text, uint32_t nbytes) {
    return text.nbytes <= nbytes ? text : (struct text){text.at + (text.nbytes - nbytes), nbytes};
}

/* A node's name is all that is told of it, so what its C++ looks like in one version does not matter. True: it is one. */
static bool place_of_node(struct place *place) {
    struct text node;
    if (file_is_python(place->file) || !place_node(place->name, &node) ||
        text_contains(place->name, "VariableType"))
        return false;
    *place = (struct place){.name = node};
    return true;
}

uint32_t site_hash(const struct trace *trace, uint32_t frame) {
    struct place place;
    if (!place_of_frame(trace, frame, &place))
        place_of_node(&place);
    uint32_t hash = hash_bytes(2166136261u, text_base_name(text_tail(place.file, 2 * HASHED_NBYTES)));
    /* The line between the two texts keeps them apart. */
    hash = hash_number(hash, place.line);
    hash = hash_bytes(hash, place.name);
    /* Neighbouring lines differ in few bits; spread them over all (the finisher of MurmurHash3). */
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
    return hash ^ (hash >> 16);
}

static uint64_t mix64(uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

static uint64_t hash64_bytes(struct text text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ text.nbytes;
    for (uint32_t i = 0; i < text.nbytes; i++) {
        if (i == HASHED_NBYTES && text.nbytes > 2 * HASHED_NBYTES)
            i = text.nbytes - HASHED_NBYTES;
        hash = (hash ^ text.at[i]) * UINT64_C(0x100000001b3);
    }
    return mix64(hash);
}

struct site_key site_key_of(const struct trace *trace, uint32_t frame) {
    struct place place;
    if (frame == 0)
        return (struct site_key){0};
    if (!place_of_frame(trace, frame, &place))
        place_of_node(&place);
    return (struct site_key){.file = hash64_bytes(text_base_name(text_tail(place.file, 2 * HASHED_NBYTES))),
                             .function = hash64_bytes(place.name),
                             .line = place.line};
}

static uint64_t level_hash(struct site_key key, enum site_level level) {
    uint64_t place = level == SITE_LINE ? mix64(key.file + key.line) : key.file;
    return level == SITE_FILE ? place : mix64(place ^ key.function);
}

bool frames_same_at(const struct trace *trace, enum site_level level, uint32_t *same, struct arena *arena) {
    uint32_t count = trace->frames.count;
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    bool done = rows != NULL;
    for (uint32_t i = 0; done && i < count; i++)
        rows[i] = (struct sort_row){level_hash(site_key_of(trace, i), level), i};
    if (done)
        sort_rows(rows, rows + count, count); /* stable: the first of equal ones has the least id */
    for (uint32_t i = 0, first = 0; done && i < count; i++) {
        first = i == 0 || rows[i].key != rows[i - 1].key ? rows[i].value : first;
        same[rows[i].value] = first;
    }
    ARENA_DROP(arena, rows);
    return done;
}

/* Drops the parts that make C++ names long. A name that is nothing but template arguments stays. */
static void write_native(struct words *words, struct text name) {
    struct text own = native_name(name), stretch;
    uint32_t before = words->nbytes;
    for (uint32_t at = 0; (stretch = native_stretch(own, &at)).nbytes != 0;)
        words_add(words, stretch);
    if (words->nbytes == before)
        words_add(words, name);
}

uint32_t site_color_index(const struct trace *trace, uint32_t frame, uint32_t n) {
    return (uint32_t)((uint64_t)(site_hash(trace, frame) * 0x9E3779B1u) * n >> 32);
}

uint32_t site_text(const struct trace *trace, uint32_t frame, char *text, uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct place place;
    if (frame == 0) {
        words_say(&words, "(no stack recorded)");
        return words_end(&words);
    }
    if (place_of_frame(trace, frame, &place)) {
        words_add(&words, trace_text(trace, trace->frames.frame[frame].name));
        return words_end(&words);
    }
    if (place_of_node(&place)) {
        words_say(&words,
                  text_is(place.name, "AccumulateGrad") ? "gradient kept for a parameter" : "backward of ");
        if (!text_is(place.name, "AccumulateGrad"))
            words_add(&words, place.name);
        return words_end(&words);
    }
    struct text file = text_base_name(place.file);
    bool native = !file_is_python(place.file),
         has_file = file.nbytes != 0 && !text_is(file, "??") && !text_is(file, "none");
    if (native && place.line == 0 && place.name.nbytes != 0) /* the bare name of a file adds nothing */
        has_file = false;
    if (has_file) {
        words_add(&words, file);
        if (place.line != 0) {
            words_say(&words, ":");
            words_number(&words, place.line);
        }
    }
    if (has_file && place.name.nbytes != 0)
        words_say(&words, " ");
    if (native)
        write_native(&words, place.name);
    else
        words_add(&words, place.name);
    if (words.nbytes == 0)
        words_say(&words, "(unknown)");
    return words_end(&words);
}
