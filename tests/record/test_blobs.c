// Blobs of many threads at once, which share one write buffer.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

enum { THREADS = 4, EACH = 40 };

static uint64_t hashes[THREADS][EACH][2];

static void fill(uint8_t *bytes, size_t size, int thread, int i)
{
    memset(bytes, thread * EACH + i, size);
}

// Chunks of captures, and now and then something larger.
static size_t size_of(int i)
{
    return i % 8 == 7 ? 3 * TS_CAPTURE_CHUNK + 5 : TS_CAPTURE_CHUNK;
}

static void *put_all(void *user)
{
    const int thread = *(const int *)user;
    uint8_t *const bytes = malloc(4 * TS_CAPTURE_CHUNK);
    for (int i = 0; bytes && i < EACH; i++) {
        fill(bytes, size_of(i), thread, i);
        if (ts_blob_put(bytes, size_of(i), hashes[thread][i]) != TS_OK)
            memset(hashes[thread][i], 0, 16);
    }
    free(bytes);
    return NULL;
}

UNIT_TEST(blobs_of_all_threads_are_whole)
{
    static const ts_session_desc plain;
    const char *const path = rt_start("blobs.sbt", plain);
    static const int numbers[THREADS] = { 0, 1, 2, 3 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, put_all,
                                           (void *)(uintptr_t)&numbers[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(TS_OK, ts_session_stop());
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    uint8_t *const expected = malloc(4 * TS_CAPTURE_CHUNK);
    assert_non_null(expected);
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(TS_OK, ts_reader_verify(reader));
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < EACH; i++) {
            const void *bytes;
            size_t size;
            assert_int_equal(TS_OK, ts_reader_blob(reader, hashes[thread][i],
                                                   &bytes, &size));
            assert_int_equal(size_of(i), size);
            fill(expected, size, thread, i);
            assert_memory_equal(expected, bytes, size);
        }
    free(expected);
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
