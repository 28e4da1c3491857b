/*
 * Whole dicts and lists have a fast path (parser/pickle/pickle_dict.c, pickle_list.c). Random pickles are written twice: with
 * opcodes that take it, and with text opcodes (GET, PUT) that never do. Both must give the same recording.
 */
#include "dice.h"
#include "memory_input.h"
#include "parser/pickle/pickle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { PICKLES = 3000, EVENTS = 24, PADDING = 2048 };

static struct dice dice;

/* ---- writer ---- */

struct writer {
    struct bytes bytes;
    bool slow;
    bool regular;  /* most events have the same form, as in real files */
    uint32_t memo; /* entries so far */
};

static void put_u8(struct writer *writer, uint32_t byte) {
    uint8_t b = (uint8_t)byte;
    bytes_add(&writer->bytes, &b, 1);
}

static void put_u32(struct writer *writer, uint32_t word) {
    for (unsigned i = 0; i < 4; i++)
        put_u8(writer, word >> 8 * i & 0xFF);
}

static void put_line(struct writer *writer, char opcode, uint32_t index) {
    char line[16];
    int length = snprintf(line, sizeof line, "%c%u\n", opcode, index);
    bytes_add(&writer->bytes, line, (size_t)length);
}

static void get(struct writer *writer, uint32_t index) {
    if (writer->slow) {
        put_line(writer, 'g', index);
    } else if (index < 256 && (writer->regular ? index & 3 : dice.state >> 40 & 3) != 0) {
        put_u8(writer, 'h');
        put_u8(writer, index);
    } else {
        put_u8(writer, 'j');
        put_u32(writer, index);
    }
}

static uint32_t memoize(struct writer *writer) {
    if (writer->slow)
        put_line(writer, 'p', writer->memo);
    else
        put_u8(writer, 0x94);
    return writer->memo++;
}

static void text(struct writer *writer, const char *characters) {
    put_u8(writer, 0x8c);
    put_u8(writer, (uint32_t)strlen(characters));
    bytes_add_text(&writer->bytes, characters);
}

/* ---- the content, the same for both ---- */

static const char *const words[] = {
    "action",         "addr",          "size",     "stream", "frames", "time_us",    "compile_context",
    "pool_id",        "name",          "filename", "line",   "state",  "total_size", "no key of ours",
    "device_free",    "user_metadata", "alloc",    "oom",    "aloha",  "N/A",        "free_requested",
    "free_completed", "segment_alloc", "snapshot",
};
enum { N_WORDS = sizeof words / sizeof words[0], N_KEYS = 16, N_ACTIONS = 8, N_FRAMES = 6 };

/* True once in `n` times, less often if most events have the same form. */
static bool rarely(const struct writer *writer, uint32_t n) {
    return dice_below(&dice, writer->regular ? 200 : n) == 0;
}

static void integer(struct writer *writer, uint32_t key) {
    static const uint8_t usual[] = {2, 2, 1, 3};
    uint32_t kind = writer->regular ? usual[key == 2 ? dice_below(&dice, 4) : 0] : dice_below(&dice, 5),
             value = dice_below(&dice, 3) == 0 ? dice_below(&dice, UINT32_MAX) : dice_below(&dice, 6) * 512;
    if (kind == 0) {
        put_u8(writer, 'K');
        put_u8(writer, value & 0xFF);
    } else if (kind == 1) {
        put_u8(writer, 'M');
        put_u8(writer, value & 0xFF);
        put_u8(writer, value >> 8 & 0xFF);
    } else if (kind == 2) {
        put_u8(writer, 'J');
        put_u32(writer, value);
    } else {
        uint32_t nbytes = writer->regular ? 3 : 1 + dice_below(&dice, 9); /* 3: all widths of BININT */
        put_u8(writer, 0x8a);
        put_u8(writer, nbytes);
        for (uint32_t i = 0; i < nbytes; i++)
            put_u8(writer, i < 4 ? value >> 8 * i & 0xFF : dice_below(&dice, 4) == 0 ? 0xFF : 0);
    }
}

static void frame(struct writer *writer, uint32_t line) {
    put_u8(writer, '}');
    memoize(writer);
    put_u8(writer, '(');
    get(writer, 9);
    text(writer, line % 2 != 0 ? "a.py" : "a_longer_name.py");
    memoize(writer);
    get(writer, 8);
    text(writer, "f");
    memoize(writer);
    get(writer, 10);
    put_u8(writer, 'K');
    put_u8(writer, line);
    put_u8(writer, 'u');
}

/* A list of frames, mostly one of a few lists. `first` is the memo index of the first frame. */
static void frames(struct writer *writer, uint32_t first) {
    uint32_t which = dice_below(&dice, 4), n = dice_below(&dice, 12) == 0 ? dice_below(&dice, 3) : 2 + which;
    put_u8(writer, ']');
    memoize(writer);
    if (n == 0)
        return;
    put_u8(writer, '(');
    for (uint32_t i = 0; i < n; i++)
        get(writer, dice_below(&dice, 60) == 0 ? dice_below(&dice, writer->memo)
                                               : first + 3 * ((i * which + i) % N_FRAMES));
    put_u8(writer, 'e');
}

static void value(struct writer *writer, uint32_t key, uint32_t first_frame) {
    if (rarely(writer, 40)) {
        put_u8(writer, (uint8_t) "N\x88}]"[dice_below(&dice, 4)]);
    } else if (rarely(writer, 40)) {
        get(writer, dice_below(&dice, writer->memo));
    } else if (key == 0) {
        get(writer, N_KEYS + dice_below(&dice, N_ACTIONS));
    } else if (key == 4) {
        frames(writer, first_frame);
    } else if (key == 7) {
        put_u8(writer, 'K');
        put_u8(writer, dice_below(&dice, 2));
        put_u8(writer, 'K');
        put_u8(writer, dice_below(&dice, 3));
        put_u8(writer, 0x86);
        memoize(writer);
    } else if (key == 15 && writer->regular) {
        get(writer, 19 + dice_below(&dice, 2));
    } else if (key == 6 || key == 15) {
        text(writer, dice_below(&dice, 3) == 0 || writer->regular ? "N/A"
                     : dice_below(&dice, 2) == 0                  ? "0/0"
                                                                  : "a text of more than eight bytes");
        if (writer->regular || dice_below(&dice, 8) != 0)
            memoize(writer);
    } else {
        integer(writer, key);
    }
}

/* Entry `to` of the memo becomes a copy of entry `from`. */
static void overwrite(struct writer *writer, uint32_t from, uint32_t to) {
    get(writer, from);
    if (writer->slow) {
        put_line(writer, 'p', to);
    } else {
        put_u8(writer, 'r');
        put_u32(writer, to);
    }
    put_u8(writer, '0');
}

static void event(struct writer *writer, uint32_t first_frame) {
    static const uint8_t usual[] = {0, 1, 2, 3, 5, 6, 7, 15, 4};
    put_u8(writer, '}');
    if (writer->regular || dice_below(&dice, 10) != 0)
        memoize(writer);
    put_u8(writer, '(');
    for (uint32_t i = 0; i < sizeof usual; i++) {
        uint32_t key = rarely(writer, 50) ? dice_below(&dice, N_KEYS) : usual[i];
        if (key == 7 && writer->regular) /* a pool, which real events lack */
            continue;
        if (rarely(writer, 60))
            continue;
        get(writer, key);
        value(writer, key, first_frame);
    }
    put_u8(writer, 'u');
    if (dice_below(&dice, 20) == 0)
        memoize(writer);
    if (dice_below(&dice, 20) == 0)
        overwrite(writer, dice_below(&dice, writer->memo),
                  dice_below(&dice, 2) == 0 ? dice_below(&dice, N_KEYS)
                                            : first_frame + dice_below(&dice, 12));
}

/* {"device_traces": [[ after every word and frame was put into the memo. Returns the index of the first frame. */
static uint32_t pickle_begin(struct writer *writer) {
    BYTES(&writer->bytes, "\x80\4");
    for (uint32_t i = 0; i < N_WORDS; i++) {
        text(writer, words[i]);
        memoize(writer);
        put_u8(writer, '0');
    }
    uint32_t first_frame = writer->memo;
    for (uint32_t i = 0; i < N_FRAMES; i++) {
        frame(writer, i);
        put_u8(writer, '0');
    }
    put_u8(writer, '}');
    text(writer, "device_traces");
    BYTES(&writer->bytes, "](](");
    return first_frame;
}

static void pickle_end(struct writer *writer) {
    BYTES(&writer->bytes, "ees.");
    for (uint32_t i = 0; i < PADDING; i++)
        put_u8(writer, 0);
}

static void pickle_write(struct writer *writer) {
    uint32_t first_frame = pickle_begin(writer);
    for (uint32_t i = 0; i < EVENTS; i++)
        event(writer, first_frame);
    pickle_end(writer);
}

/* ---- what was read, as text ---- */

static void say(struct bytes *to, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    bytes_add(to, line, (size_t)length);
}

static void say_string(struct bytes *to, const struct trace *trace, uint32_t string) {
    struct text text = trace_text(trace, string);
    bytes_add(to, text.at, text.nbytes);
    say(to, "|");
}

static void say_allocations(struct bytes *to, const struct trace *trace,
                            const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++) {
        say(to, "\n%u-%u-%u %llu at %llu, %u %u %x:", allocations->birth[i], allocations->request[i],
            allocations->death[i], (unsigned long long)allocations->size[i],
            (unsigned long long)allocations->address[i], allocations->stream[i], allocations->pool[i],
            allocations->flags[i]);
        for (uint32_t at = allocations->stack[i]; at != 0; at = stack_parent(&trace->stacks, at)) {
            const struct frame *frame = &trace->frames.frame[trace->stacks.frame[at]];
            say(to, " %u ", frame->line);
            say_string(to, trace, frame->file);
        }
        if (allocations->context[i] == 0)
            continue;
        const struct context *context = &trace->contexts.context[allocations->context[i]];
        say_string(to, trace, context->compile_context);
        say_string(to, trace, context->user_metadata);
    }
}

static struct bytes outcome(const struct writer *writer) {
    struct trace trace;
    struct read_error error;
    struct bytes text = {0};
    bool done = memory_input_trace(&trace, writer->bytes.at, writer->bytes.nbytes, 0, SIZE_MAX, &error);
    say(&text, "%s", done ? "read" : read_code_name(error.code));
    for (uint32_t d = 0; done && d < trace.n_devices; d++) {
        const struct device_trace *device = &trace.devices[d];
        say(&text, "\n%u events, %u streams, %u pools, %u ooms, %u segment events", device->n_events,
            device->n_streams, device->n_pools, device->n_ooms, device->n_segment_events);
        for (uint32_t i = 0; device->time_us != NULL && i < device->n_events; i++)
            say(&text, " %lld", (long long)device->time_us[i]);
        say_allocations(&text, &trace, &device->allocations);
    }
    bytes_add(&text, "", 1);
    trace_release(&trace);
    return text;
}

static void test_both_ways_say_the_same(void **state) {
    (void)state;
    uint32_t n_read = 0;
    for (uint32_t i = 0; i < PICKLES; i++) {
        struct bytes said[2];
        for (unsigned slow = 0; slow < 2; slow++) {
            struct writer writer = {.slow = slow != 0, .regular = i % 2 != 0};
            dice = (struct dice){i};
            pickle_write(&writer);
            said[slow] = outcome(&writer);
            bytes_release(&writer.bytes);
        }
        if (strcmp((const char *)said[0].at, (const char *)said[1].at) != 0)
            fail_msg("pickle %u:\n%s\n--- but by text opcodes ---\n%s", i, (const char *)said[0].at,
                     (const char *)said[1].at);
        n_read += memcmp(said[0].at, "read", 4) == 0;
        bytes_release(&said[0]);
        bytes_release(&said[1]);
    }
    assert_in_range(n_read, PICKLES / 2, PICKLES); /* most must be valid, or the test would prove little */
}

/* ---- work ---- */

/* One event as torch 2.11 has them: 66 or, with a stack of its own, 92 bytes. */
static void usual_event(struct writer *writer, uint32_t first_frame, uint32_t i) {
    static const uint8_t keys[] = {1, 2, 3, 5};
    put_u8(writer, '}');
    memoize(writer);
    put_u8(writer, '(');
    get(writer, 0);
    get(writer, N_KEYS + (i % 2 == 0 ? 0 : 5)); /* alloc, free_completed */
    for (uint32_t k = 0; k < sizeof keys; k++) {
        get(writer, keys[k]);
        put_u8(writer, 'J');
        put_u32(writer, k == 3 ? i : (i / 2 % 100 + 1) * 512);
    }
    get(writer, 6);
    text(writer, "N/A");
    memoize(writer);
    get(writer, 4);
    put_u8(writer, ']');
    memoize(writer);
    put_u8(writer, '(');
    for (uint32_t f = 0; f < 12; f++)
        get(writer, first_frame + 3 * ((f + i / 2 % 5) % N_FRAMES));
    BYTES(&writer->bytes, "eu");
}

/* How many opcodes the general machine runs to read `n_events` events. */
static uint64_t steps_of(uint32_t n_events) {
    struct writer writer = {0};
    struct trace trace;
    struct read_error error = {0};
    struct cursor cursor;
    uint32_t first_frame = pickle_begin(&writer);
    for (uint32_t i = 0; i < n_events; i++)
        usual_event(&writer, first_frame, i);
    pickle_end(&writer);
    struct memory_input input = {.at = writer.bytes.at, .nbytes = writer.bytes.nbytes};
    struct read_source source = {.read = memory_input_read, .context = &input};
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    assert_true(cursor_init(&cursor, &source, NULL, &trace.arena, &error));
    assert_true(pickle_read(&cursor, &trace));
    assert_int_equal(trace.devices[0].n_events, n_events);
    uint64_t steps = cursor.n_steps;
    cursor_release(&cursor);
    trace_release(&trace);
    bytes_release(&writer.bytes);
    return steps;
}

/* Each event has 25 opcodes besides those of its stack. The general machine may run none of them, but for the few at
 * the buffer's end. */
static void test_events_cost_no_opcodes(void **state) {
    (void)state;
    uint64_t few = steps_of(1000), many = steps_of(101000);
    assert_true(many - few < 100000 / 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways_say_the_same),
        cmocka_unit_test(test_events_cost_no_opcodes),
    };
    return cmocka_run_group_tests_name("pickle_fast", tests, NULL, NULL);
}
