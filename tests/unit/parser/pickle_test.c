/* The pickle machine, opcode by opcode: a small good snapshot, one thing broken, and the exact code and offset. */
#include "memory_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- reading ---- */

static struct trace trace;
static struct read_error error;

static bool read_nbytes(const void *at, size_t nbytes) {
    trace_release(&trace);
    return memory_input_trace(&trace, at, nbytes, 0, SIZE_MAX, &error);
}

#define READ(literal) read_nbytes((literal), sizeof(literal) - 1)

static void expect_error_at(enum read_code code, uint64_t offset, const char *file, int line) {
    if (error.code != code || error.offset != offset) {
        print_error("%s at %d instead of %s at %d: %s\n", read_code_name(error.code), (int)error.offset,
                    read_code_name(code), (int)offset, error.message);
        _fail(file, line);
    }
}

#define REFUSED(code, offset, literal)                         \
    do {                                                       \
        assert_false(READ(literal));                           \
        expect_error_at((code), (offset), __FILE__, __LINE__); \
        assert_true(error.message[0] != '\0');                 \
    } while (0)

static int teardown(void **state) {
    (void)state;
    trace_release(&trace);
    return 0;
}

/* ---- a small snapshot ---- */

/* Protocol 2 without a memo: {"device_traces": [[EVENTS]], "segments": []}, with chosen opcodes. */
#define TEXT(literal_length, literal) "X" literal_length "\0\0\0" literal
#define BEGIN                         "\x80\2}(" TEXT("\x08", "segments") "]" TEXT("\x0d", "device_traces") "](]("
#define ALLOC \
    "}(" TEXT("\6", "action") TEXT("\5", "alloc") TEXT("\4", "addr") "M\0\2" TEXT("\4", "size") "K\x64u"
#define FREE                                                 \
    "}(" TEXT("\6", "action") TEXT("\x0e", "free_completed") \
        TEXT("\4", "addr") "M\0\2" TEXT("\4", "size") "K\x64u"
#define FINISH "eeu."

static void expect_small(const char *file, int line) {
    const struct device_trace *device = trace.devices;
    if (trace.n_devices != 1 || device->n_events != 2 || device->allocations.count != 1 ||
        device->allocations.birth[0] != 1 || device->allocations.death[0] != 2 ||
        device->allocations.size[0] != 100 || device->allocations.address[0] != 512)
        _fail(file, line);
}

#define SMALL(literal)                                                    \
    do {                                                                  \
        if (!READ(literal))                                               \
            fail_msg("%s (offset %d)", error.message, (int)error.offset); \
        expect_small(__FILE__, __LINE__);                                 \
    } while (0)

static void test_small(void **state) {
    (void)state;
    SMALL(BEGIN ALLOC FREE FINISH);
    SMALL(BEGIN ALLOC FREE FINISH "what follows the STOP is not looked at");
}

/* ---- one value, every opcode that can write it ---- */

/* The allocation's size (or address) as `value`. */
#define SIZE_AS(value)                                                                                      \
    BEGIN "}(" TEXT("\6", "action") TEXT("\5", "alloc") TEXT("\4", "addr") "M\0\2" TEXT("\4", "size") value \
        "u" FREE FINISH
#define ADDRESS_AS(value)                                                  \
    BEGIN "}(" TEXT("\6", "action") TEXT("\5", "alloc") TEXT("\4", "addr") \
        value TEXT("\4", "size") "K\x64u" FINISH

static void test_integers(void **state) {
    (void)state;
    SMALL(SIZE_AS("K\x64"));
    SMALL(SIZE_AS("M\x64\0"));
    SMALL(SIZE_AS("J\x64\0\0\0"));
    SMALL(SIZE_AS("\x8a\1\x64"));
    SMALL(SIZE_AS("\x8a\x08\x64\0\0\0\0\0\0\0"));
    SMALL(SIZE_AS("\x8a\x0c\x64\0\0\0\0\0\0\0\0\0\0\0"));
    SMALL(SIZE_AS("\x8b\1\0\0\0\x64"));
    SMALL(SIZE_AS("I100\n"));
    SMALL(SIZE_AS("L100L\n"));
    assert_true(READ(ADDRESS_AS("\x8a\0")));
    assert_int_equal(trace.devices[0].allocations.address[0], 0);
}

static void test_addresses_of_64_bits(void **state) {
    (void)state;
    assert_true(READ(ADDRESS_AS("\x8a\x09\0\0\0\0\0\0\0\x80\0")));
    assert_true(trace.devices[0].allocations.address[0] == UINT64_C(1) << 63);
    assert_true(READ(ADDRESS_AS("\x8a\x08\0\0\0\0\0\0\0\x80"))); /* as the C++ pickler writes the same */
    assert_true(trace.devices[0].allocations.address[0] == UINT64_C(1) << 63);
    assert_true(READ(ADDRESS_AS("L9223372036854775808L\n")));
    assert_true(trace.devices[0].allocations.address[0] == UINT64_C(1) << 63);
    assert_true(READ(ADDRESS_AS("\x8a\x0a\0\0\0\0\0\0\0\0\1\0"))); /* too wide: saturated */
    assert_true(trace.devices[0].allocations.address[0] == UINT64_MAX);
}

static void test_negative_sizes_count_as_none(void **state) {
    (void)state;
    assert_true(READ(SIZE_AS("J\xff\xff\xff\xff")));
    assert_int_equal(trace.devices[0].allocations.size[0], 0);
}

#define ACTION_AS(value) \
    BEGIN "}(" TEXT("\6", "action") value TEXT("\4", "addr") "M\0\2" TEXT("\4", "size") "K\x64u" FREE FINISH

static void test_strings(void **state) {
    (void)state;
    SMALL(ACTION_AS("\x8c\5alloc"));
    SMALL(ACTION_AS("\x8d\5\0\0\0\0\0\0\0alloc"));
    SMALL(ACTION_AS("Valloc\n"));
    SMALL(ACTION_AS("V\\u0061ll\\U0000006fc\n"));
    SMALL(ACTION_AS("S'alloc'\n"));
    SMALL(ACTION_AS("T\5\0\0\0alloc"));
    SMALL(ACTION_AS("U\5alloc"));
}

static void test_values_of_no_use(void **state) {
    (void)state;
/* No parentheses, because adjacent literals form one text. */
#define EXTRA(value) \
    ACTION_AS(TEXT("\5", "alloc") TEXT("\5", "extra") value) /* NOLINT(bugprone-macro-parentheses) */
    SMALL(EXTRA("N"));
    SMALL(EXTRA("\x88"));
    SMALL(EXTRA("\x89"));
    SMALL(EXTRA("I01\n"));
    SMALL(EXTRA("G\x3f\xf0\0\0\0\0\0\0"));
    SMALL(EXTRA("F1.5\n"));
    SMALL(EXTRA("B\3\0\0\0abc"));
    SMALL(EXTRA("C\3abc"));
    SMALL(EXTRA("\x8e\3\0\0\0\0\0\0\0abc"));
    SMALL(EXTRA("\x96\3\0\0\0\0\0\0\0abc"));
    SMALL(EXTRA(")"));
    SMALL(EXTRA("\x8f"));
    SMALL(EXTRA("\x8f(K\1\x90"));
    SMALL(EXTRA("(K\1K\2\x91"));
    SMALL(EXTRA("K\1\x85"));
    SMALL(EXTRA("K\1K\2\x86"));
    SMALL(EXTRA("K\1K\2K\3\x87"));
    SMALL(EXTRA("(K\1K\2K\3K\4t"));
    SMALL(EXTRA("(K\1K\2l"));
    SMALL(EXTRA("(K\1K\2d"));
    SMALL(EXTRA("K\1"
                "2"
                "0")); /* DUP, POP */
    SMALL(EXTRA("K\1(K\2K\3"
                "1")); /* MARK and POP_MARK */
    SMALL(EXTRA("K\1("
                "0"));            /* POP takes a mark too */
    SMALL(EXTRA("]q\0h\0a"));     /* a list in itself */
    SMALL(EXTRA("}q\0(K\1h\0u")); /* a dict in itself */
    SMALL(EXTRA("ccollections\nOrderedDict\n)R"));
#undef EXTRA
}

static void test_frames_are_skipped(void **state) {
    (void)state;
    SMALL("\x80\4\x95\x10\0\0\0\0\0\0\0}(" TEXT("\x08", "segments") "]" TEXT(
        "\x0d", "device_traces") "](](" ALLOC FREE FINISH);
}

/* ---- memo ---- */

static void test_memo(void **state) {
    (void)state;
    SMALL(ACTION_AS(TEXT("\5", "alloc") "\x94"
                                        "0"
                                        "h\0"));
    SMALL(ACTION_AS(TEXT("\5", "alloc") "q\7"
                                        "0"
                                        "h\7"));
    SMALL(ACTION_AS(TEXT("\5", "alloc") "r\7\0\0\0"
                                        "0"
                                        "j\7\0\0\0"));
    SMALL(ACTION_AS(TEXT("\5", "alloc") "p7\n"
                                        "0"
                                        "g7\n"));
    SMALL(ACTION_AS(TEXT("\4", "free") "q\0"
                                       "0" TEXT("\5", "alloc") "q\0"
                                                               "0"
                                                               "h\0")); /* put again */
}

static void test_a_root_that_is_filled_through_the_memo(void **state) {
    (void)state;
    SMALL("\x80\2}q\0"
          "0h\0(" TEXT("\x0d", "device_traces") "](](" ALLOC FREE FINISH);
}

/* An event that occurs in two places counts once; a value that replaces it later is another event. */
static void test_an_event_in_two_places(void **state) {
    (void)state;
    SMALL(BEGIN ALLOC "q\7h\7h\7" FREE "h\7" FINISH);
    SMALL(BEGIN ALLOC "2" FREE FINISH);
    SMALL(BEGIN FREE "0" ALLOC FREE FINISH);
    SMALL("\x80\2}(" TEXT("\x0d", "device_traces") "](](" ALLOC "q\7" FREE "e](h\7h\7eeu.");
}

/* ---- the C++ pickler ---- */

#define TAGGED(value) "ctorch.jit._pickle\nrestore_type_tag\n" value TEXT("\x0e", "Dict[Any, Any]") "\x86R"

static void test_type_tags(void **state) {
    (void)state;
    SMALL(BEGIN TAGGED(ALLOC) TAGGED(FREE) FINISH);
    SMALL("\x80\2" TAGGED("}(" TEXT("\x0d", "device_traces")
                              TAGGED("](" TAGGED("](" ALLOC FREE "e") "e") "u") ".");
    SMALL("\x80\2}(" TEXT("\x0d", "device_traces") "](ctorch.jit._pickle\nbuild_intlist\n(](" ALLOC FREE
                                                   "etReu.");
}

static void test_memo_after_completion(void **state) {
    (void)state;
    SMALL("\x80\2}(" TEXT("\x0d", "device_traces") "](](" ALLOC "q\0" FREE "q\1eq\2eq\3uq\4.");
}

/* ---- shapes ---- */

static void test_roots(void **state) {
    (void)state;
    SMALL("\x80\2}(" TEXT("\6", "traces") "](](" ALLOC FREE FINISH);
    SMALL("\x80\2}" TEXT("\6", "traces") "]](" ALLOC FREE "eas.");
    assert_true(READ("\x80\2]."));
    assert_int_equal(trace.n_devices, 0);
    assert_true(READ("\x80\2](}(" TEXT("\6", "device") "K\3" TEXT("\x0a", "total_size") "M\0\2" TEXT(
        "\6", "blocks") "](}(" TEXT("\4", "size") "M\0\2" TEXT("\5", "state")
                         TEXT("\x10", "active_allocated") "ueue."));
    assert_int_equal(trace.n_devices, 1);
    assert_int_equal(trace.devices[0].ordinal, 3);
    assert_int_equal(trace.devices[0].allocations.count, 1);
    assert_int_equal(trace.devices[0].allocations.size[0], 512);
    assert_true(trace_has_diagnostic(&trace, "no_history"));
}

static void test_events_without_keys(void **state) {
    (void)state;
    assert_true(READ(BEGIN "}" TEXT("\6", "action") TEXT("\5", "alloc") "s}" TEXT("\6", "action") "Ns}" TEXT(
        "\6", "action") TEXT("\5", "later") "s" FINISH));
    assert_int_equal(trace.devices[0].n_events, 3);
    assert_true(trace_has_diagnostic(&trace, "unknown_actions"));
}

static void test_elements_that_are_no_events_are_counted(void **state) {
    (void)state;
    SMALL(BEGIN ALLOC "K\7" FREE FINISH);
    assert_true(trace_has_diagnostic(&trace, "misplaced"));
}

static void test_wrong_shape(void **state) {
    (void)state;
    REFUSED(READ_BAD_SHAPE, 3, "\x80\2N.");
    REFUSED(READ_BAD_SHAPE, 12, "\x80\2}" TEXT("\1", "a") "K\1s.");
    REFUSED(READ_BAD_SHAPE, 4, "\x80\2K\1.");
}

/* ---- what is refused ---- */

#define PROLOGUE "\x80\2](" /* 4 bytes */

static void test_code_is_refused(void **state) {
    (void)state;
    REFUSED(READ_FORBIDDEN, 4, PROLOGUE "cos\nsystem\n(S'true'\ntR.");
    assert_non_null(strstr(error.message, "os.system"));
    REFUSED(READ_FORBIDDEN, 14, PROLOGUE "\x8c\2os\x8c\4exec\x93.");
    assert_non_null(strstr(error.message, "os.exec"));
    REFUSED(READ_FORBIDDEN, 4, PROLOGUE "ctorch._utils\n_rebuild_tensor_v2\n.");
    REFUSED(READ_FORBIDDEN, 8, PROLOGUE "K\1K\2R.");
    static const struct {
        const char *opcode, *name;
    } opcodes[] = {
        {"P", "PERSID"},  {"Q", "BINPERSID"},    {"b", "BUILD"},          {"i", "INST"},
        {"o", "OBJ"},     {"\x81", "NEWOBJ"},    {"\x82", "EXT1"},        {"\x83", "EXT2"},
        {"\x84", "EXT4"}, {"\x92", "NEWOBJ_EX"}, {"\x97", "NEXT_BUFFER"}, {"\x98", "READONLY_BUFFER"}};
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        struct bytes pickle = {0};
        BYTES(&pickle, PROLOGUE "N");
        bytes_add_text(&pickle, opcodes[i].opcode);
        BYTES(&pickle, "........");
        assert_false(read_nbytes(pickle.at, pickle.nbytes));
        expect_error_at(READ_FORBIDDEN, 5, __FILE__, __LINE__);
        assert_memory_equal(error.message, opcodes[i].name, strlen(opcodes[i].name));
        bytes_release(&pickle);
    }
}

static void test_stack_errors(void **state) {
    (void)state;
    REFUSED(READ_BAD_STACK, 2, "\x80\2.");
    REFUSED(READ_BAD_STACK, 2,
            "\x80\2"
            "a.");
    REFUSED(READ_BAD_STACK, 3, "\x80\2Ns.");
    REFUSED(READ_BAD_STACK, 2,
            "\x80\2"
            "e.");
    REFUSED(READ_BAD_STACK, 3, "\x80\2(e.");
    REFUSED(READ_BAD_STACK, 3, "\x80\2(u.");
    REFUSED(READ_BAD_STACK, 5, "\x80\2N(N\x86.");
    REFUSED(READ_BAD_STACK, 5, "\x80\2}(Nu.");
    REFUSED(READ_BAD_STACK, 6,
            "\x80\2K\1K\1"
            "a.");
    REFUSED(READ_BAD_STACK, 6,
            "\x80\2](N\x94"
            "s.");
    REFUSED(READ_BAD_STACK, 2, "\x80\2q\0.");
    REFUSED(READ_BAD_STACK, 2,
            "\x80\2"
            "0.");
    REFUSED(READ_BAD_STACK, 2,
            "\x80\2"
            "2.");
    REFUSED(READ_BAD_STACK, 2,
            "\x80\2"
            "1.");
    REFUSED(READ_BAD_STACK, 2, "\x80\2t.");
}

static void test_bad_values(void **state) {
    (void)state;
    REFUSED(READ_BAD_VALUE, 0, "\x80\6N.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "h\0.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "j\0\0\0\1.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "gten\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "g99999999999\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "Iten\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "L12x\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "Fx\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "Salloc\n.");
    REFUSED(READ_BAD_VALUE, 4, PROLOGUE "S'\n.");
    REFUSED(READ_BAD_OPCODE, 4, PROLOGUE "\xff.");
    REFUSED(READ_BAD_OPCODE, 4, PROLOGUE "\0.");
}

static void test_lengths_and_limits(void **state) {
    (void)state;
    REFUSED(READ_BAD_LENGTH, 4, PROLOGUE "X\xff\xff\xff\xff."); /* MAX_STRING_NBYTES */
    REFUSED(READ_BAD_LENGTH, 4, PROLOGUE "\x8d\0\0\0\0\0\0\0\x80.");
    REFUSED(READ_BAD_LENGTH, 4, PROLOGUE "\x8b\xff\xff\xff\xff."); /* a negative length */
    REFUSED(READ_BAD_LENGTH, 4, PROLOGUE "\x8b\1\4\0\0.");         /* MAX_LONG_NBYTES */
    REFUSED(READ_BAD_LENGTH, 4,
            PROLOGUE "I0000000000000000000000000000000000000000000000000000000000000000\n.");
    REFUSED(READ_LIMIT, 5, PROLOGUE "Nr\0\0\0\1.");       /* a memo index far beyond the bytes read */
    REFUSED(READ_TRUNCATED, 12, PROLOGUE "X\0\0\0\1abc"); /* 16 MiB that are missing */
    struct bytes nested = {0};
    BYTES(&nested, "\x80\2");
    for (int i = 0; i < 100001; i++)
        BYTES(&nested, "(");
    assert_false(read_nbytes(nested.at, nested.nbytes));
    expect_error_at(READ_LIMIT, 2 + 100000, __FILE__, __LINE__); /* MAX_MARKS */
    bytes_release(&nested);
}

static void test_memory_limit(void **state) {
    (void)state;
    struct bytes pickle = {0};
    BYTES(&pickle, "\x80\2](");
    for (int i = 0; i < 1 << 20; i++)
        BYTES(&pickle, "N");
    BYTES(&pickle, "e.");
    trace_release(&trace);
    assert_false(memory_input_trace(&trace, pickle.at, pickle.nbytes, 0, 4 << 20, &error));
    assert_int_equal(error.code, READ_NO_MEMORY);
    assert_true(trace.arena.limit_hit);
    assert_non_null(strstr(error.message, "--max-memory"));
    bytes_release(&pickle);
}

static void test_first_bytes(void **state) {
    (void)state;
    REFUSED(READ_EMPTY, 0, "");
    REFUSED(READ_UNKNOWN_KIND, 0, " ");
    REFUSED(READ_UNKNOWN_KIND, 0, "hello");
    REFUSED(READ_UNKNOWN_KIND, 0, "code of conduct");
    REFUSED(READ_UNKNOWN_KIND, 0, "\x80\1N.");
    REFUSED(READ_UNKNOWN_KIND, 0,
            "\x7f"
            "ELF");
}

/* ---- every cut ---- */

static const char whole[] =
    BEGIN ALLOC FREE "e" TEXT("\1", "x") "0](" ALLOC "ee" TEXT("\1", "y") "}" TEXT("\1", "z") "K\1su.";

static void test_every_cut(void **state) {
    (void)state;
    size_t nbytes = sizeof whole - 1;
    size_t first_event = sizeof(BEGIN ALLOC) - 1;
    assert_true(read_nbytes(whole, nbytes));
    assert_int_equal(trace.n_devices, 2);
    assert_false(trace_has_diagnostic(&trace, "truncated"));
    for (size_t cut = 2; cut < nbytes; cut++) {
        bool done = read_nbytes(whole, cut);
        if (done != (cut >= first_event))
            fail_msg("cut at %zu: %s", cut, done ? "read" : error.message);
        if (!done) {
            assert_int_equal(error.code, READ_TRUNCATED);
            assert_int_equal(error.offset, cut);
            continue;
        }
        assert_true(trace_has_diagnostic(&trace, "truncated"));
        assert_int_equal(trace.devices[0].n_events, cut < first_event + sizeof(FREE) - 1 ? 1 : 2);
        assert_true(trace.n_devices == 1 || trace.devices[1].n_events == 1);
    }
}

static void test_blocks_of_any_size(void **state) {
    (void)state;
    for (size_t step = 1; step < 9; step++) {
        trace_release(&trace);
        assert_true(memory_input_trace(&trace, whole, sizeof whole - 1, step, SIZE_MAX, &error));
        assert_int_equal(trace.n_devices, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_addresses_of_64_bits),
        cmocka_unit_test(test_negative_sizes_count_as_none),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_values_of_no_use),
        cmocka_unit_test(test_frames_are_skipped),
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_a_root_that_is_filled_through_the_memo),
        cmocka_unit_test(test_an_event_in_two_places),
        cmocka_unit_test(test_type_tags),
        cmocka_unit_test(test_memo_after_completion),
        cmocka_unit_test(test_roots),
        cmocka_unit_test(test_events_without_keys),
        cmocka_unit_test(test_elements_that_are_no_events_are_counted),
        cmocka_unit_test(test_wrong_shape),
        cmocka_unit_test(test_code_is_refused),
        cmocka_unit_test(test_stack_errors),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_lengths_and_limits),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_first_bytes),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_blocks_of_any_size),
    };
    return cmocka_run_group_tests_name("pickle", tests, NULL, teardown);
}
