/*
 * Takes one of the project's samples and changes a few bytes: a real recording with something wrong in it.
 *
 *     255 | number of the sample | 256ths of it that are kept, 0: all | changes: place (3 bytes), new byte
 */
#include "tests/fuzz/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* New samples go to the end, because seeds name them by their number. */
static const char *const samples[] = {"one_event.pickle",
                                      "train.pickle",
                                      "expandable.pickle",
                                      "held_over.pickle",
                                      "kept_per_layer.pickle",
                                      "leak_forward_only.pickle",
                                      "leak_graph.pickle",
                                      "leak_two_per_layer.pickle",
                                      "leak_zero_grad.pickle",
                                      "oom.pickle",
                                      "overflow.pickle",
                                      "private_pools.pickle",
                                      "streams.pickle",
                                      "two_devices.pickle",
                                      "user_metadata_annotate.pickle",
                                      "hostile_names.pickle",
                                      "cpu_train.raw.json.gz",
                                      "cpu_train.trace.json.gz",
                                      "held_over_healthy.pickle",
                                      "kept_per_layer_healthy.pickle",
                                      "leak_forward_only_healthy.pickle",
                                      "leak_zero_grad_healthy.pickle",
                                      "log_megatron.log",
                                      "log_deepspeed.log",
                                      "log_memory_summary.log",
                                      "log_oom_new.log"};
enum { N_SAMPLES = sizeof samples / sizeof *samples, LONGEST = 1 << 20 };

struct sample {
    uint8_t *bytes;
    size_t nbytes;
};

/* Read once, and kept. */
static struct sample sample_read(unsigned which) {
    static struct sample kept[N_SAMPLES];
    char path[4096];
    struct sample *sample = &kept[which];
    if (sample->bytes != NULL)
        return *sample;
    (void)snprintf(path, sizeof path, "%s/%s", STRATA_SAMPLES, samples[which]);
    FILE *file = fopen(path, "rb");
    sample->bytes = malloc(LONGEST);
    if (file == NULL || sample->bytes == NULL ||
        (sample->nbytes = fread(sample->bytes, 1, LONGEST, file)) == 0) {
        perror(path);
        abort();
    }
    (void)fclose(file);
    return *sample;
}

uint8_t *recipe_make_sample(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes) {
    const struct sample sample = sample_read(recipe_u8(&bytes, &nbytes) % N_SAMPLES);
    const size_t left = recipe_u8(&bytes, &nbytes);
    uint8_t *made = malloc(sample.nbytes);
    if (made == NULL)
        abort();
    memcpy(made, sample.bytes, sample.nbytes);
    while (nbytes != 0) {
        size_t where = 0;
        for (unsigned i = 0; i < 3; i++)
            where = where << 8 | recipe_u8(&bytes, &nbytes);
        made[where % sample.nbytes] = recipe_u8(&bytes, &nbytes);
    }
    *made_nbytes = left == 0 ? sample.nbytes : sample.nbytes * left / 256;
    return made;
}
