/* Kineto's Chrome traces, as tests/fuzz/recipe.h describes them. */
#include "tests/fuzz/recipe.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_EVENTS = 400 };

struct kineto_recipe {
    const uint8_t *bytes;
    size_t nbytes;
    uint64_t time_us;
    FILE *out;
};

static uint8_t next(struct kineto_recipe *recipe) {
    return recipe_u8(&recipe->bytes, &recipe->nbytes);
}

/* Usually a number of this magnitude, sometimes an unexpected value. */
static void value_put(struct kineto_recipe *recipe, const char *key, unsigned shift) {
    static const char *const others[] = {"-1",
                                         "null",
                                         "NaN",
                                         "\"a text\"",
                                         "1e300",
                                         "-Infinity",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "-9223372036854775809",
                                         "72057594037927936",
                                         "[]",
                                         "{\"a\":{}}",
                                         "0.5",
                                         "4294967296",
                                         "true",
                                         "0"};
    uint8_t kind = next(recipe), n = next(recipe);
    if (kind < 220)
        (void)fprintf(recipe->out, ",\"%s\":%s%llu", key, kind % 8 == 7 ? "-" : "",
                      (unsigned long long)n << shift);
    else
        (void)fprintf(recipe->out, ",\"%s\":%s", key, others[n % (sizeof others / sizeof *others)]);
}

static void time_put(struct kineto_recipe *recipe) {
    uint8_t step = next(recipe);
    recipe->time_us = step < 240 ? recipe->time_us + step : recipe->time_us - (uint64_t)(step & 15) * 40;
    (void)fprintf(recipe->out, ",\"ts\":%s%llu%s", step & 1 ? "\"" : "", (unsigned long long)recipe->time_us,
                  step & 1 ? ".125\"" : "");
}

static const char *text_next(struct kineto_recipe *recipe) {
    static const char *const texts[] = {"train.py(12): main",
                                        "model.py(7): forward",
                                        "torch/nn/modules/module.py(1500): _call_impl",
                                        "<built-in method linear>",
                                        "aten::empty",
                                        "ProfilerStep#3",
                                        "Optimizer.step#SGD.step",
                                        "autograd::engine::evaluate_function: MulBackward0",
                                        "nn.Module: Linear_0",
                                        "no brackets",
                                        "(: )",
                                        "a.py(99999999999999999999): f",
                                        "\\ud800\\u0000<b>",
                                        ""};
    return texts[next(recipe) % (sizeof texts / sizeof *texts)];
}

static void thread_put(struct kineto_recipe *recipe) {
    uint8_t n = next(recipe);
    (void)fprintf(recipe->out, ",\"pid\":%u,\"tid\":%s%u%s", n & 1, n & 128 ? "\"" : "", n >> 1 & 3,
                  n & 128 ? "\"" : "");
}

static void span_put(struct kineto_recipe *recipe) {
    static const char *const categories[] = {"python_function", "cpu_op", "Operator", "user_annotation",
                                             "kernel"};
    uint8_t which = next(recipe);
    (void)fprintf(recipe->out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\"", categories[which % 5],
                  text_next(recipe));
    time_put(recipe);
    value_put(recipe, "dur", which >> 4 & 7);
    thread_put(recipe);
    if (which & 128)
        (void)fprintf(recipe->out, ",\"args\":{\"Call stack\":\"%s;%s\"}", text_next(recipe),
                      text_next(recipe));
    (void)fputc('}', recipe->out);
}

static void sample_put(struct kineto_recipe *recipe) {
    uint8_t which = next(recipe);
    (void)fprintf(recipe->out, "{\"ph\":\"i\",\"name\":\"%s\"",
                  which % 16 == 3 ? "[OutOfMemory]" : "[memory]");
    time_put(recipe);
    thread_put(recipe);
    (void)fprintf(recipe->out, ",\"args\":{\"Device Type\":%u", which & 4 ? 0U : 1U);
    (void)fprintf(recipe->out, ",\"Device Id\":%d", which & 4 ? -1 : which >> 3 & 1);
    if (which & 16)
        value_put(recipe, "Addr", 9);
    value_put(recipe, "Bytes", 9 + (which >> 5));
    if (which & 32)
        value_put(recipe, "Total Allocated", 12);
    if (which & 64)
        value_put(recipe, "Total Reserved", 20);
    (void)fputs("}}", recipe->out);
}

static void events_put(struct kineto_recipe *recipe) {
    (void)fputs(",\"traceEvents\":[{}", recipe->out);
    for (unsigned n = 0; n < MOST_EVENTS && recipe->nbytes != 0; n++) {
        (void)fputc(',', recipe->out);
        if (next(recipe) < 96)
            span_put(recipe);
        else
            sample_put(recipe);
    }
    (void)fputc(']', recipe->out);
}

uint8_t *recipe_make_kineto(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes) {
    struct kineto_recipe recipe = {.bytes = bytes, .nbytes = nbytes, .time_us = 1000};
    char *made = NULL;
    if ((recipe.out = open_memstream(&made, made_nbytes)) == NULL)
        abort();
    uint8_t what = next(&recipe);
    (void)fputs("{\"schemaVersion\":1", recipe.out);
    if (what & 1) {
        (void)fputs(",\"deviceProperties\":[{\"name\":\"GPU\"", recipe.out);
        value_put(&recipe, "id", 0);
        value_put(&recipe, "totalGlobalMem", 30);
        (void)fputs("}]", recipe.out);
    }
    if (what & 2) {
        (void)fputs(",\"distributedInfo\":{\"backend\":\"nccl\"", recipe.out);
        value_put(&recipe, "rank", 0);
        (void)fputc('}', recipe.out);
    }
    if (what & 4)
        value_put(&recipe, "baseTimeNanoseconds", 20);
    events_put(&recipe);
    (void)fputs("}", recipe.out);
    if (fclose(recipe.out) != 0)
        abort();
    return (uint8_t *)made;
}
