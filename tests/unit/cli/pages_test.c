/* Which pages are taken is asked of the system, by mincore. */
#include "cli/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, FULL_NBYTES = 4 * MIB, BLOCK_NBYTES = 16 * MIB, NEXT_NBYTES = 4 * MIB };

/* The first bytes are a block, those after it belong to somebody else. No page is there yet. */
static uint8_t *memory_new(void) {
    uint8_t *memory =
        mmap(NULL, BLOCK_NBYTES + NEXT_NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void memory_free(uint8_t *memory) {
    assert_int_equal(munmap(memory, BLOCK_NBYTES + NEXT_NBYTES), 0);
}

static size_t taken_nbytes(uint8_t *memory, size_t from, size_t to) {
    size_t page_nbytes = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *there = calloc(to - from, 1);
    assert_int_equal(mincore(memory + from, to - from, there), 0);
    size_t nbytes = 0;
    for (size_t i = 0; i < (to - from) / page_nbytes; i++)
        nbytes += there[i] & 1 ? page_nbytes : 0;
    free(there);
    return nbytes;
}

static int setup(void **state) {
#if defined(MADV_POPULATE_WRITE)
    uint8_t *memory = memory_new();
    *state = madvise(memory, MIB, MADV_POPULATE_WRITE) == 0 ? "able" : NULL;
    memory_free(memory);
#else
    *state = NULL;
#endif
    return 0;
}

static void test_pages_are_taken_as_far_as_the_file_is_read(void **state) {
    if (*state == NULL)
        skip();
    uint8_t *memory = memory_new();
    assert_true(pages_begin());
    pages_read_until(100 * MIB);
    pages_grown(memory, FULL_NBYTES, BLOCK_NBYTES);
    pages_read_until(196 * MIB); /* and 4 MiB ahead: twice what the block was full with */
    pages_take();
    assert_int_equal(taken_nbytes(memory, 0, FULL_NBYTES), 0);
    assert_int_equal(taken_nbytes(memory, FULL_NBYTES, 2 * FULL_NBYTES), FULL_NBYTES);
    assert_int_equal(taken_nbytes(memory, 2 * FULL_NBYTES, BLOCK_NBYTES), 0);
    pages_read_until(UINT64_C(1) << 60);
    pages_take();
    assert_int_equal(taken_nbytes(memory, FULL_NBYTES, BLOCK_NBYTES), BLOCK_NBYTES - FULL_NBYTES);
    assert_int_equal(taken_nbytes(memory, BLOCK_NBYTES, BLOCK_NBYTES + NEXT_NBYTES), 0);
    pages_end();
    memory_free(memory);
}

static void test_a_block_that_is_gone_or_not_whole_pages_is_left_alone(void **state) {
    if (*state == NULL)
        skip();
    uint8_t *memory = memory_new();
    assert_true(pages_begin());
    pages_read_until(MIB);
    pages_grown(memory, FULL_NBYTES, BLOCK_NBYTES);
    pages_forget(memory);
    pages_grown(memory + 16, FULL_NBYTES, 2 * FULL_NBYTES + 16); /* ends within a page */
    pages_read_until(100 * MIB);
    pages_take();
    assert_int_equal(taken_nbytes(memory, 2 * FULL_NBYTES, BLOCK_NBYTES), 0);
    assert_true(taken_nbytes(memory, FULL_NBYTES, 2 * FULL_NBYTES) > FULL_NBYTES - MIB);
    pages_end();
    memory_free(memory);
}

static void test_one_file_at_a_time(void **state) {
    (void)state;
    assert_true(pages_begin());
    assert_false(pages_begin());
    pages_end();
    uint8_t *memory = memory_new();
    pages_grown(memory, FULL_NBYTES, BLOCK_NBYTES); /* no file is read */
    assert_true(pages_begin());
    pages_read_until(100 * MIB);
    pages_take();
    assert_int_equal(taken_nbytes(memory, 0, BLOCK_NBYTES), 0);
    for (int i = 0; i < 100; i++) /* more than are kept */
        pages_grown(memory, FULL_NBYTES, FULL_NBYTES);
    pages_end();
    memory_free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_taken_as_far_as_the_file_is_read),
        cmocka_unit_test(test_a_block_that_is_gone_or_not_whole_pages_is_left_alone),
        cmocka_unit_test(test_one_file_at_a_time),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
