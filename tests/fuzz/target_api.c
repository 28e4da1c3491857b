/*
 * Makes calls of the page's scripts (render/page/page_api.def), in any order and with any arguments, on open sessions
 * and views. The table of calls is that list, so a call that is added to it is tested at once.
 *
 *     a byte: what is loaded, and how many changes | two bytes: a recipe's length | the recipe | changes | calls, each:
 *     two bytes: which call | a byte: its handle | arguments
 *
 * The two bytes select the call whose name has the next hash, so that a seed keeps its meaning when the table grows.
 */
#include "render/page/page_heap.h"
#include "render/page/page_state.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

/* ---- the module's memory ---- */

enum { HEAP_NBYTES = 64 << 20 };

static size_t heap_used;

static void *heap_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    if (new_nbytes > old_nbytes && new_nbytes - old_nbytes > HEAP_NBYTES - heap_used)
        return NULL;
    void *moved = NULL;
    if (new_nbytes == 0)
        free(ptr);
    else if ((moved = realloc(ptr, new_nbytes)) == NULL)
        return NULL;
    heap_used = heap_used - old_nbytes + new_nbytes;
    return moved;
}

struct arena_host page_heap(void) {
    return (struct arena_host){heap_resize, NULL};
}

/* ---- handles and arguments ---- */

enum { MOST_SESSIONS = 2, MOST_VIEWS = 4, MOST_CALLS = 300, MOST_ARGUMENTS = 6 };

struct caller {
    const uint8_t *bytes;
    size_t nbytes;
    struct page_session *session, *sessions[MOST_SESSIONS];
    struct page_view *view, *views[MOST_VIEWS];
    struct {
        uint8_t kind, n;
    } argument[MOST_ARGUMENTS];
    u32 last; /* the last u32 argument of the last call */
    place at; /* the last place that a call returned */
};

static uint8_t next(struct caller *caller) {
    return recipe_u8(&caller->bytes, &caller->nbytes);
}

/* Takes the arguments in order: compilers may evaluate arguments in any order, but an input must always mean the
 * same. */
static void arguments_take(struct caller *caller, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        caller->argument[i].kind = next(caller);
        caller->argument[i].n = next(caller);
    }
    caller->at = caller->last = 0;
}

/* A small number, as a page passes them, or one near the limits of the type. */
static u32 argument_u32(struct caller *caller, size_t unused, unsigned i) {
    uint8_t kind = caller->argument[i].kind, n = caller->argument[i].n;
    (void)unused;
    return caller->last = kind < 160   ? n
                          : kind < 200 ? (u32)kind << 8 | n
                          : kind < 224 ? UINT32_MAX - n
                                       : (u32)n << (kind & 31);
}

static i32 argument_i32(struct caller *caller, size_t unused, unsigned i) {
    (void)unused;
    return caller->argument[i].kind < 128
               ? caller->argument[i].n - 128
               : (i32)((u32)caller->argument[i].n << (caller->argument[i].kind & 31));
}

static f64 argument_f64(struct caller *caller, size_t unused, unsigned i) {
    static const f64 ends[] = {-1.0,   0.5,    4294967295.0, 4294967296.0,    9007199254740992.0,
                               9.3e18, 1.9e19, 1e300,        __builtin_inf(), __builtin_nan("")};
    uint8_t kind = caller->argument[i].kind, n = caller->argument[i].n;
    (void)unused;
    f64 end = ends[n % (sizeof ends / sizeof *ends)];
    return kind < 128 ? n : kind < 192 ? (f64)((u32)n << (kind & 31)) : kind < 224 ? end : -end;
}

/* A parameter such as "u32 index" becomes a number for it: the name becomes that of a
 * parameter of some function. */
#define TAKE(parameter, i) TAKE_##parameter)), i)
#define TAKE_u32           argument_u32(caller, sizeof(void (*)(u32
#define TAKE_i32           argument_i32(caller, sizeof(void (*)(i32
#define TAKE_f64           argument_f64(caller, sizeof(void (*)(f64

/* ---- the calls ---- */

/* Reads all bytes that an answer points to. */
static void bytes_read(f64 at, f64 nbytes) {
    volatile uint8_t sum = 0;
    const uint8_t *bytes = (const uint8_t *)(place)at;
    size_t count = nbytes >= 1 ? (size_t)nbytes : 0;
    for (size_t i = 0; i < count; i += 64)
        sum = (uint8_t)(sum + bytes[i]);
    if (count != 0)
        sum = (uint8_t)(sum + bytes[count - 1]);
}

static void answer_read(const char *kind, place at) {
    const void *record = (const void *)at;
    const struct record_text *text = record;
    const struct record_stack_frames *frames = record;
    const struct record_outline *outline = record;
    const struct record_areas *areas = record;
    const struct record_parsed *parsed = record;
    const struct record_regex *regex = record;
    if (record == NULL)
        return;
    if (strcmp(kind, "text") == 0)
        bytes_read(text->place, text->nbytes);
    else if (strcmp(kind, "stack_frames") == 0)
        bytes_read(frames->place, frames->count * 4);
    else if (strcmp(kind, "outline") == 0)
        bytes_read(outline->edges, outline->count * 16);
    else if (strcmp(kind, "areas") == 0)
        bytes_read(areas->place, areas->keys * areas->width * 8);
    else if (strcmp(kind, "parsed") == 0)
        bytes_read(parsed->what, parsed->nbytes);
    else if (strcmp(kind, "regex") == 0)
        bytes_read(regex->text, regex->nbytes);
}

#define STORE_void
#define STORE_place caller->at =
#define STORE_u32   (void)
#define STORE_i32   (void)
#define STORE_f64   (void)

#define CALL(handle, result, kind, name, count, ...)                \
    static void call_##handle##_##name(struct caller *caller) {     \
        arguments_take(caller, count);                              \
        STORE_##result handle##_##name(caller->handle __VA_ARGS__); \
        answer_read(kind, caller->at);                              \
    }
#define CONSTANT(name, value)
#undef FLAG
#define FLAG(name, value)
#define RECORD(name)
#define FIELD(name)
#define RECORD_END
#undef MODULE0
#define MODULE0(result, name)
#undef MODULE2
#define MODULE2(result, name, a, b)
#include "tests/fuzz/page_calls.h"

#include "render/page/page_api.def"

/* ---- the table of calls ---- */

enum handle { OF_session, OF_view };

struct call {
    enum handle handle;
    const char *name;
    void (*call)(struct caller *caller);
};

#undef CALL
#define CALL(handle, result, kind, name, count, ...) {OF_##handle, #name, call_##handle##_##name},

static const struct call calls[] = {
#include "render/page/page_api.def"
};

enum { N_CALLS = sizeof calls / sizeof *calls };

static uint16_t name_hash(const struct call *call) {
    uint32_t hash = 2166136261U + (uint32_t)call->handle;
    for (const char *c = call->name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619U;
    return (uint16_t)(hash ^ hash >> 16);
}

static const struct call *call_next(struct caller *caller) {
    uint16_t wanted = (uint16_t)(next(caller) << 8), least = UINT16_MAX;
    const struct call *found = &calls[0];
    wanted = (uint16_t)(wanted | next(caller));
    for (unsigned i = 0; i < N_CALLS; i++) {
        uint16_t above = (uint16_t)(name_hash(&calls[i]) - wanted);
        if (above < least) {
            least = above;
            found = &calls[i];
        }
    }
    return found;
}

/* ---- other things that the scripts do ---- */

/* Writes into the room that a call gives the scripts for bytes. */
static void room_fill(struct caller *caller, size_t nbytes) {
    uint8_t *room = (uint8_t *)caller->at;
    for (size_t i = 0; room != NULL && i < nbytes && caller->nbytes != 0; i++)
        room[i] = next(caller);
}

static void request_fill(struct caller *caller) {
    f64 *field = (f64 *)caller->at;
    for (size_t i = 0; i < sizeof(struct record_request) / sizeof *field; i++) {
        arguments_take(caller, 1);
        field[i] = argument_f64(caller, 0, 0);
    }
}

static void pieces_inflate(struct page_session *session) {
    const f64 *rows = (const f64 *)session_pieces(session);
    for (u32 i = 0; rows != NULL && i < rows[0]; i++) {
        const struct record_piece piece = ((const struct record_piece *)(rows + 1))[i];
        examine_inflate((const uint8_t *)(place)piece.packed, (size_t)piece.packed_nbytes,
                        (uint8_t *)(place)piece.target, (size_t)piece.raw_nbytes);
    }
}

static void session_load(struct page_session *session, const uint8_t *payload, size_t nbytes) {
    uint8_t *room = (uint8_t *)session_reserve(session, (u32)nbytes);
    if (room == NULL)
        return;
    memcpy(room, payload, nbytes);
    EXAMINE_CHECK(session_open(session) <= 0);
    pieces_inflate(session);
    i32 state = PAYLOAD_MORE;
    while (state == PAYLOAD_MORE)
        state = session_unpack(session);
    EXAMINE_CHECK(state <= 0);
}

static void view_end(struct caller *caller, unsigned i) {
    if (caller->views[i] != NULL)
        view_release(caller->views[i]);
    caller->views[i] = NULL;
}

/* Ends a session after its views. */
static void session_end(struct caller *caller, unsigned i) {
    for (unsigned v = 0; v < MOST_VIEWS; v++)
        if (caller->views[v] != NULL && caller->views[v]->session == caller->sessions[i])
            view_end(caller, v);
    if (caller->sessions[i] != NULL)
        session_release(caller->sessions[i]);
    caller->sessions[i] = NULL;
}

/* ---- one input ---- */

static void view_call(struct caller *caller, const struct call *call, uint8_t whose) {
    unsigned v = whose % MOST_VIEWS;
    caller->session = caller->sessions[whose / MOST_VIEWS % MOST_SESSIONS];
    if (caller->views[v] == NULL && caller->session != NULL)
        caller->views[v] = (struct page_view *)view_new((place)caller->session, whose >> 4);
    caller->view = caller->views[v];
    if (caller->view == NULL)
        return;
    if (strcmp(call->name, "release") == 0) {
        view_end(caller, v);
        return;
    }
    call->call(caller);
    if (strcmp(call->name, "words") == 0)
        room_fill(caller, caller->last);
    if (strcmp(call->name, "request") == 0)
        request_fill(caller);
}

static void session_call(struct caller *caller, const struct call *call, uint8_t whose) {
    unsigned s = whose % MOST_SESSIONS;
    if (caller->sessions[s] == NULL)
        caller->sessions[s] = (struct page_session *)session_new();
    caller->session = caller->sessions[s];
    if (strcmp(call->name, "release") == 0 || caller->session == NULL) {
        session_end(caller, s);
        return;
    }
    call->call(caller);
    if (strcmp(call->name, "reserve") == 0)
        room_fill(caller, caller->last);
    if (whose & 128 && strcmp(call->name, "open") == 0)
        pieces_inflate(caller->session);
}

static void calls_make(struct caller *caller) {
    for (unsigned n = 0; n < MOST_CALLS && caller->nbytes != 0; n++) {
        const struct call *call = call_next(caller);
        uint8_t whose = next(caller);
        if (call->handle == OF_view)
            view_call(caller, call, whose);
        else
            session_call(caller, call, whose);
    }
}

/* Loads the recordings for the calls; the second is a copy of the first. */
static void sessions_load(struct caller *caller) {
    uint8_t loaded = next(caller);
    size_t recipe_nbytes = next(caller) * 256U, payload_nbytes = 0;
    recipe_nbytes += next(caller);
    recipe_nbytes = recipe_nbytes < caller->nbytes ? recipe_nbytes : caller->nbytes;
    const uint8_t *changes = caller->bytes + recipe_nbytes;
    size_t n_changes = loaded >> 4; /* of a page that somebody crafted; it is drawn like any other */
    n_changes =
        n_changes < (caller->nbytes - recipe_nbytes) / 4 ? n_changes : (caller->nbytes - recipe_nbytes) / 4;
    uint8_t *payload =
        examine_recipe_payload(caller->bytes, recipe_nbytes, changes, n_changes, &payload_nbytes);
    caller->bytes += recipe_nbytes + 4 * n_changes;
    caller->nbytes -= recipe_nbytes + 4 * n_changes;
    for (unsigned i = 0; i < MOST_SESSIONS && payload != NULL; i++) {
        caller->sessions[i] = (struct page_session *)session_new();
        if (caller->sessions[i] != NULL && !(loaded >> i & 1))
            session_load(caller->sessions[i], payload, payload_nbytes);
    }
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct caller caller = {.bytes = bytes, .nbytes = nbytes};
    sessions_load(&caller);
    calls_make(&caller);
    for (unsigned i = 0; i < MOST_VIEWS; i++)
        view_end(&caller, i);
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
        session_end(&caller, i);
    EXAMINE_CHECK(heap_used == 0);
    return 0;
}
