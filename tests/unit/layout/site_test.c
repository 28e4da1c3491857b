/* The frame that counts as "your code", its name, and the hash for its colour. */
#include "layout/owner.h"
#include "layout/site.h"
#include "memory_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct trace trace;

static int setup(void **state) {
    (void)state;
    return trace_init(&trace, plain_host, SIZE_MAX) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    trace_release(&trace);
    return 0;
}

static uint32_t add_frame(const char *file, uint32_t line, const char *name) {
    uint32_t id = trace.frames.count;
    assert_true(ARENA_GROW(&trace.arena, trace.frames.frame, trace.frames.capacity, (uint64_t)id + 1));
    trace.frames.frame[id] = (struct frame){.file = trace_string_add(&trace, file, strlen(file)),
                                            .name = trace_string_add(&trace, name, strlen(name)),
                                            .line = line};
    trace.frames.count++;
    return id;
}

static uint32_t add_stack(uint32_t parent, uint32_t frame) {
    uint32_t id = trace.stacks.count;
    assert_true(stack_table_add(&trace.stacks, &trace.arena, parent, frame));
    return id;
}

static enum frame_kind kind_of(uint32_t frame) {
    uint8_t *rank = malloc(trace.frames.count);
    assert_non_null(rank);
    assert_true(frames_rank(&trace, rank, &trace.arena));
    enum frame_kind kind = frame_kind_of_rank(rank[frame]);
    free(rank);
    return kind;
}

static enum frame_kind kind(const char *file, const char *name) {
    return kind_of(add_frame(file, 7, name));
}

static enum frame_kind told(const char *pattern, enum frame_owner owner, const char *file, const char *name) {
    uint32_t frame = add_frame(file, 7, name), n_frames;
    trace.frames.owner = NULL; /* a new table is made for the current frames */
    assert_true(frames_tell_owner(&trace, pattern, owner, &n_frames));
    return kind_of(frame);
}

static void test_declared_files(void **state) {
    (void)state;
    assert_int_equal(told("vendored", OWNER_LIBRARY, "/home/a/vendored/ops.py", "f"), FRAME_LIBRARY);
    assert_int_equal(told("mine", OWNER_USER, "/v/lib/python3.11/site-packages/mine/ops.py", "f"),
                     FRAME_USER);
    assert_int_equal(told("torch", OWNER_USER, "/v/site-packages/torchvision/ops.py", "f"), FRAME_USER);
    assert_int_equal(told("kernels", OWNER_USER, "/home/a/kernels/op.cu", "launch"), FRAME_USER);
    assert_int_equal(told("kernels2", OWNER_LIBRARY, "/home/a/kernels2/op.cu", "launch"), FRAME_NATIVE);
    assert_int_equal(told("ceval.c", OWNER_LIBRARY, "ceval.c", "_PyEval_EvalFrameDefault"), FRAME_NOISE);
    trace.frames.owner = NULL;
}

static bool meets(const char *pattern, const char *file) {
    return owner_pattern_meets(pattern, (struct text){(const uint8_t *)file, (uint32_t)strlen(file)});
}

static void test_patterns(void **state) {
    (void)state;
    assert_true(meets("mylib", "/home/a/mylib/x.py"));
    assert_true(meets("mylib", "C:\\a\\mylib\\x.py"));
    assert_true(meets("mylib", "mylib.py"));
    assert_true(meets("mylib", "/a/mylib"));
    assert_false(meets("mylib", "/a/mylib2/x.py"));
    assert_false(meets("mylib", "/a/notmylib/x.py"));
    assert_false(meets("mylib", "/a/mylib.pyx"));
    assert_true(meets("*/my?ib/*", "/a/mylib/x.py"));
    assert_true(meets("mylib/*.py", "/a/mylib/b/x.py"));
    assert_true(meets("mylib/", "C:\\mylib\\x.py"));
    assert_true(meets("C:\\mylib\\*", "C:/mylib/x.py"));
    assert_false(meets("/mylib/*", "/a/mylib/x.py"));
    assert_false(meets("mylib/*", "/a/notmylib/x.py"));
    assert_true(meets("/a/*b*c", "/a/xbxbxc"));
    assert_false(meets("/a/*b*c", "/a/xbxbxd"));
    assert_true(meets("*", "x"));
    assert_true(meets("**/x.py", "/a/x.py"));
    assert_false(meets("a/b", ""));
    assert_false(meets("", "x"));
}

static void test_user_frames(void **state) {
    (void)state;
    assert_int_equal(kind("/home/a/train.py", "step"), FRAME_USER);
    assert_int_equal(kind("train.py", "<module>"), FRAME_USER);
    assert_int_equal(kind("/usr/lib/python3.11/site-packages/transformers/trainer.py", "train"), FRAME_USER);
    assert_int_equal(kind("/usr/lib/python3/dist-packages/einx/ops.py", "f"), FRAME_LIBRARY);
    assert_int_equal(kind("C:\\v\\Lib\\site-packages\\einops\\_backends.py", "einsum"), FRAME_LIBRARY);
    assert_int_equal(kind("/home/a/einops/mine.py", "f"), FRAME_USER);
    assert_int_equal(kind("/v/lib/python3.11/site-packages/torchvision/x.py", "f"), FRAME_USER);
    assert_int_equal(kind("<ipython-input-3-abc>", "<module>"), FRAME_USER);
    assert_int_equal(kind("<stdin>", "<module>"), FRAME_USER);
    assert_int_equal(kind("/v/lib/python3.11/site-packages/diffusers/models/unet.py", "forward"), FRAME_USER);
    assert_int_equal(kind("/home/a/decorator.py", "f"), FRAME_USER);
    assert_int_equal(kind("C:\\work\\train.py", "step"), FRAME_USER);
}

/* User code whose names and directories contain the viewers' noise words is not noise. */
static void test_user_frames_are_never_noise(void **state) {
    (void)state;
    assert_int_equal(kind("/home/a/train.py", "train_start"), FRAME_USER);
    assert_int_equal(kind("/home/a/train.py", "_start"), FRAME_USER);
    assert_int_equal(kind("/home/a/train.py", "PyEval_like"), FRAME_USER);
    assert_int_equal(kind("/home/a/Register/model.py", "forward"), FRAME_USER);
}

/* Debuggers and wrappers call user code and are called by it. */
static void test_wrappers_stand_between(void **state) {
    (void)state;
    static const char *const files[] = {"/v/lib/python3.11/site-packages/wrapt/wrappers.py",
                                        "/v/lib/python3.11/site-packages/decorator.py",
                                        "/v/lib/python3.11/site-packages/typing_extensions.py",
                                        "/v/lib/python3.11/site-packages/ipdb/__main__.py",
                                        "/v/lib/python3.11/site-packages/tqdm/std.py",
                                        "/v/lib/python3.11/site-packages/_pytest/python.py",
                                        "/usr/lib/python3.11/functools.py",
                                        "/usr/lib/python3.11/contextlib.py",
                                        "/usr/lib/python3.11/pdb.py",
                                        "/x/_pydevd_bundle/pydevd_cython.pyx.py",
                                        "/v/lib/python3.11/site-packages/debugpy/launcher.py",
                                        "<@beartype(model.Block.forward) at 0x7f>",
                                        "<decorator-gen-12>"};
    for (uint32_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(kind(files[i], "wrapper"), FRAME_LIBRARY);
}

static void test_library_frames(void **state) {
    (void)state;
    assert_int_equal(kind("/v/lib/python3.11/site-packages/torch/nn/modules/module.py", "_call_impl"),
                     FRAME_LIBRARY);
    assert_int_equal(kind("/usr/lib/python3/dist-packages/torch/optim/adamw.py", "step"), FRAME_LIBRARY);
    assert_int_equal(kind("/v/lib/python3.11/site-packages/torchgen/api.py", "f"), FRAME_LIBRARY);
    assert_int_equal(kind("/v/lib/python3.11/site-packages/triton/runtime/jit.py", "run"), FRAME_LIBRARY);
    assert_int_equal(kind("C:\\v\\Lib\\site-packages\\torch\\nn\\modules\\linear.py", "forward"),
                     FRAME_LIBRARY);
    assert_int_equal(kind("/tmp/torchinductor_ann/ab/cabc.py", "call"), FRAME_LIBRARY);
    assert_int_equal(kind("/opt/pytorch/pytorch/torch/nn/modules/module.py", "_call_impl"), FRAME_LIBRARY);
    assert_int_equal(kind("/opt/conda/lib/python3.11/contextlib.py", "__enter__"), FRAME_LIBRARY);
    assert_int_equal(kind("/usr/lib64/python3.9/threading.py", "run"), FRAME_LIBRARY);
    assert_int_equal(kind("/usr/lib/python3.9/concurrent/futures/thread.py", "run"), FRAME_LIBRARY);
    assert_int_equal(kind("<frozen runpy>", "_run_code"), FRAME_LIBRARY);
    assert_int_equal(kind("<string>", "__init__"), FRAME_LIBRARY);
    assert_int_equal(kind("<eval_with_key>.12", "forward"), FRAME_LIBRARY);
}

static void test_noise_and_native_frames(void **state) {
    (void)state;
    assert_int_equal(kind_of(0), FRAME_NOISE);
    assert_int_equal(kind("??", "torch::unwind::unwind()"), FRAME_NOISE);
    assert_int_equal(kind("", "torch::CapturedTraceback::gather(bool, bool, bool)"), FRAME_NOISE);
    assert_int_equal(kind("crtstuff.c", "_start"), FRAME_NOISE);
    assert_int_equal(kind("", "__libc_start_main_impl"), FRAME_NOISE);
    assert_int_equal(kind("", "__libc_start_call_main"), FRAME_NOISE);
    assert_int_equal(kind("??", "_PyEval_EvalFrameDefault"), FRAME_NOISE);
    assert_int_equal(kind("/src/Objects/call.c", "cfunction_vectorcall"), FRAME_NOISE);
    assert_int_equal(kind("/build/aten/RegisterCUDA.cpp", "wrapper_CUDA_empty"), FRAME_NOISE);
    assert_int_equal(kind("RegisterCUDA.cpp", "wrapper_CUDA_empty"), FRAME_NATIVE);
    assert_int_equal(kind("", "at::native::empty_cuda(c10::ArrayRef<long>)"), FRAME_NATIVE);
    assert_int_equal(kind("??", "nccl_group_start"), FRAME_NATIVE);
    assert_int_equal(kind("", ""), FRAME_NATIVE);
    assert_int_equal(kind("x.pyc", "f"), FRAME_NATIVE);
}

/* A profiler's frames have the place in the name. */
static void test_frames_of_a_profile(void **state) {
    (void)state;
    assert_int_equal(kind_of(add_frame("none", 0, "train.py(12): step")), FRAME_USER);
    assert_int_equal(kind_of(add_frame("", 0, "/home/a/train.py(12): step")), FRAME_USER);
    assert_int_equal(kind_of(add_frame("none", 0, "torch/nn/modules/module.py(1): __call__")), FRAME_LIBRARY);
    assert_int_equal(kind_of(add_frame("none", 0, "aten::empty")), FRAME_NATIVE);
    assert_int_equal(kind_of(add_frame("none", 0, "train.py(x): step")), FRAME_NATIVE);
    assert_int_equal(kind_of(add_frame("none", 0, "train.py(12)")), FRAME_NATIVE);
    assert_int_equal(kind_of(add_frame("none", 0, "train.py(12): ")), FRAME_NATIVE);
}

/* main <- train <- module.py <- at::empty <- unwind, innermost last. */
static void test_sites(void **state) {
    uint8_t ranks[16];
    uint32_t site[16];
    (void)state;
    uint32_t noise = add_frame("", 0, "unwind::unwind"), native = add_frame("", 0, "at::empty");
    uint32_t library = add_frame("/v/site-packages/torch/nn/modules/module.py", 1, "_call_impl");
    uint32_t frozen = add_frame("<frozen runpy>", 0, "_run_code");
    uint32_t outer = add_frame("main.py", 1, "<module>"), inner = add_frame("train.py", 2, "step");
    uint32_t s_noise = add_stack(0, noise);
    uint32_t s_native = add_stack(s_noise, native);
    uint32_t s_noise_again = add_stack(s_native, noise);
    uint32_t s_frozen = add_stack(s_noise_again, frozen);
    uint32_t s_library = add_stack(s_frozen, library);
    uint32_t s_outer = add_stack(s_frozen, outer);
    uint32_t s_inner = add_stack(s_outer, inner);
    uint32_t s_deep = add_stack(add_stack(add_stack(s_inner, library), native), noise);
    uint32_t s_hole = add_stack(s_inner, 0);
    assert_true(frames_rank(&trace, ranks, &trace.arena));
    sites_of_stacks(&trace, ranks, site);
    assert_int_equal(site[0], 0);
    assert_int_equal(site[s_noise], noise);
    assert_int_equal(site[s_native], native);
    assert_int_equal(site[s_noise_again], native);
    assert_int_equal(site[s_frozen], frozen);
    assert_int_equal(site[s_library], library);
    assert_int_equal(site[s_outer], outer);
    assert_int_equal(site[s_inner], inner);
    assert_int_equal(site[s_deep], inner);
    assert_int_equal(site[s_hole], inner);
}

static const char malloc_name[] =
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long)";

/* Every allocation passes through these frames; the site is the operator behind them. */
static void test_plumbing_gives_way(void **state) {
    static const char *const plumbing[] = {
        malloc_name,
        "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*)",
        "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType)",
        "at::native::empty_strided_cuda(c10::ArrayRef<long>)",
        "c10::impl::wrap_kernel_functor_unboxed_<at::native::mm(at::Tensor "
        "const&)>::call(c10::OperatorKernel*)",
        "at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)",
        "at::TensorIteratorBase::build(at::TensorIteratorConfig&)",
    };
    (void)state;
    uint32_t operator_frame =
        add_frame("??", 0, "at::native::mm(c10::Storage const&, at::TensorIteratorBase&)");
    uint32_t engine = add_frame("", 0, "torch::autograd::Engine::thread_main(GraphTask const&)");
    uint32_t stack = add_stack(add_stack(0, engine), operator_frame), alone = 0;
    uint32_t deepest = 0;
    for (uint32_t i = sizeof plumbing / sizeof *plumbing; i-- > 0;) {
        deepest = add_frame("", 0, plumbing[i]);
        stack = add_stack(stack, deepest);
        alone = add_stack(alone, deepest);
    }
    uint8_t *rank = malloc(trace.frames.count);
    uint32_t *site = malloc(trace.stacks.count * sizeof *site);
    assert_true(rank != NULL && site != NULL);
    assert_true(frames_rank(&trace, rank, &trace.arena));
    sites_of_stacks(&trace, rank, site);
    assert_int_equal(site[stack], operator_frame);
    assert_int_equal(site[alone], deepest); /* better than nothing */
    free(rank);
    free(site);
}

static void test_hash(void **state) {
    (void)state;
    uint32_t hash = site_hash(&trace, add_frame("/home/a/train.py", 41, "forward"));
    assert_int_equal(hash, site_hash(&trace, add_frame("/mnt/other/train.py", 41, "forward")));
    assert_int_equal(hash, site_hash(&trace, add_frame("C:\\x\\train.py", 41, "forward")));
    assert_int_equal(hash, site_hash(&trace, add_frame("none", 0, "/home/a/train.py(41): forward")));
    assert_int_not_equal(hash, site_hash(&trace, add_frame("/home/a/train.py", 42, "forward")));
    assert_int_not_equal(hash, site_hash(&trace, add_frame("/home/a/train2.py", 41, "forward")));
    assert_int_not_equal(hash, site_hash(&trace, add_frame("/home/a/train.py", 41, "backward")));
}

/* Both ends of a very long name count for the hash, and its length costs no time. */
static void test_hash_of_long_names(void **state) {
    char name[4097];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    uint32_t hash = site_hash(&trace, add_frame("train.py", 1, name));
    assert_int_equal(hash, site_hash(&trace, add_frame("/home/a/train.py", 1, name)));
    name[0] = 'm';
    assert_int_not_equal(hash, site_hash(&trace, add_frame("train.py", 1, name)));
    name[0] = 'n';
    name[sizeof name - 2] = 'm';
    assert_int_not_equal(hash, site_hash(&trace, add_frame("train.py", 1, name)));
    name[sizeof name - 2] = 'n';
    assert_int_not_equal(hash, site_hash(&trace, add_frame(name, 1, "train.py")));
}

/* The colour is made of a few bits of the hash: the lines of one file must spread over all values of any
 * byte. */
static void test_hash_is_well_mixed(void **state) {
    uint32_t seen[4][16] = {{0}};
    (void)state;
    for (uint32_t line = 1; line <= 1600; line++) {
        uint32_t hash = site_hash(&trace, add_frame("model.py", line, "forward"));
        for (uint32_t k = 0; k < 4; k++)
            seen[k][hash >> (8 * k) & 15]++;
    }
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 16; i++)
            assert_in_range(seen[k][i], 60, 140); /* 100 each would be even; the deviation of chance is 10 */
}

static void assert_text(uint32_t frame, const char *expected) {
    char text[200];
    assert_int_equal(site_text(&trace, frame, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_text(void **state) {
    (void)state;
    assert_text(0, "(no stack recorded)");
    assert_text(add_frame("/home/a/train.py", 41, "forward"), "train.py:41 forward");
    assert_text(add_frame("a\\b\\train.py", 4294967295u, "forward"), "train.py:4294967295 forward");
    assert_text(add_frame("/home/a/train.py", 0, "forward"), "train.py forward");
    assert_text(add_frame("/home/a/train.py", 3, ""), "train.py:3");
    assert_text(add_frame("??", 0, "at::empty"), "at::empty");
    assert_text(add_frame("", 5, "at::empty"), "at::empty");
    assert_text(add_frame("none", 0, "dir/train.py(12): step"), "dir/train.py(12): step");
    assert_text(add_frame("none", 0, "aten::empty"), "aten::empty");
    assert_text(add_frame("", 0, ""), "(unknown)");
}

static void test_text_of_native_frames(void **state) {
    (void)state;
    assert_text(add_frame("", 0, "at::native::mm_cuda(at::Tensor const&, at::Tensor const&)"),
                "at::native::mm_cuda");
    assert_text(add_frame("Blas.cpp", 0, "at::Tensor at::native::f<float, 4>::g(float*) const"),
                "at::native::f::g");
    assert_text(add_frame("Blas.cpp", 12, "void f(int)"), "Blas.cpp:12 f");
    assert_text(add_frame("Blas.cpp", 0, ""), "Blas.cpp");
    assert_text(add_frame("", 0, "at::(anonymous namespace)::wrapper_CUDA_bmm(at::Tensor const&)"),
                "at::(anonymous namespace)::wrapper_CUDA_bmm");
    assert_text(add_frame("", 0, "A::operator()(int) const"), "A::operator()");
    assert_text(add_frame("", 0, "bool A::operator<(A const&)"), "A::operator<");
    assert_text(add_frame("", 0, "A::f()::{lambda(int)#1}::operator()(int)"), "A::f");
    assert_text(add_frame("", 0, "autograd::engine::evaluate_function: MmBackward0"),
                "autograd::engine::evaluate_function: MmBackward0");
    assert_text(add_frame("", 0, "f<a->b>(int)"), "f");
    assert_text(add_frame("", 0, "unclosed<a(int)"), "unclosed");
    assert_text(add_frame("", 0, "<only>"), "<only>");
    assert_text(add_frame("", 0, "(int)"), "(int)");
    assert_text(add_frame("", 0, "f<"), "f");
}

static void test_text_is_cut(void **state) {
    char text[8] = "xxxxxxx";
    (void)state;
    uint32_t frame = add_frame("train.py", 41, "f");
    assert_int_equal(site_text(&trace, frame, text, sizeof text), 13);
    assert_string_equal(text, "train.p");
    assert_int_equal(site_text(&trace, frame, text, 1), 13);
    assert_string_equal(text, "");
    text[0] = 'x';
    assert_int_equal(site_text(&trace, frame, text, 0), 13);
    assert_int_equal(text[0], 'x');
    assert_int_equal(site_text(&trace, frame, NULL, 0), 13);
}

/* "a" and one character of two, three and four bytes; cut at every place. */
static void test_text_is_never_cut_inside_of_a_character(void **state) {
    static const char name[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5";
    static const uint32_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    char text[16];
    (void)state;
    uint32_t frame = add_frame("", 0, name);
    for (uint32_t nbytes = 0; nbytes <= 10; nbytes++) {
        assert_int_equal(site_text(&trace, frame, text, nbytes + 1), 10);
        assert_int_equal(strlen(text), kept[nbytes]);
        assert_memory_equal(text, name, kept[nbytes]);
    }
    /* Invalid UTF-8 ends within the text. */
    frame = add_frame("", 0, "\x80\x80\x80\x80\x80\x80\x80\x80");
    assert_int_equal(site_text(&trace, frame, text, 6), 8);
    assert_int_equal(strlen(text), 5);
}

/* Backward without Python: the innermost node of autograd's graph, whatever its C++ looks like. */
static void test_nodes_of_the_graph(void **state) {
    (void)state;
    char text[64];
    uint32_t old =
        add_frame("Functions.cpp", 0, "torch::autograd::generated::MulBackward0::apply(std::vector<int>&&)");
    uint32_t new = add_frame("", 12, "torch::autograd::generated::MulBackward0_apply_functional(int)");
    uint32_t stored = add_frame("", 0, "torch::autograd::AccumulateGrad::apply(std::vector<int>&&)");
    site_text(&trace, old, text, sizeof text);
    assert_string_equal(text, "backward of MulBackward0");
    site_text(&trace, new, text, sizeof text);
    assert_string_equal(text, "backward of MulBackward0");
    assert_int_equal(site_hash(&trace, old), site_hash(&trace, new));
    site_text(&trace, stored, text, sizeof text);
    assert_string_equal(text, "gradient kept for a parameter");
    assert_int_equal(kind_of(old), FRAME_NATIVE);
}

/* The search looks only at the beginning of a name, because many frames may share a name of 16 KiB. */
static void test_nodes_in_long_names(void **state) {
    static const char node[] = "::MulBackward0::apply(int)";
    char name[4096], text[64];
    (void)state;
    for (size_t before = 1000; before <= 3000; before += 2000) {
        memset(name, 'n', before);
        memcpy(name + before, node, sizeof node);
        site_text(&trace, add_frame("", 0, name), text, sizeof text);
        if (before == 1000)
            assert_string_equal(text, "backward of MulBackward0");
        else
            assert_memory_equal(text, name, sizeof text - 1);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_user_frames),
        TEST(test_nodes_of_the_graph),
        TEST(test_nodes_in_long_names),
        TEST(test_declared_files),
        TEST(test_patterns),
        TEST(test_user_frames_are_never_noise),
        TEST(test_wrappers_stand_between),
        TEST(test_library_frames),
        TEST(test_noise_and_native_frames),
        TEST(test_frames_of_a_profile),
        TEST(test_sites),
        TEST(test_plumbing_gives_way),
        TEST(test_hash),
        TEST(test_hash_of_long_names),
        TEST(test_hash_is_well_mixed),
        TEST(test_text),
        TEST(test_text_of_native_frames),
        TEST(test_text_is_cut),
        TEST(test_text_is_never_cut_inside_of_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
