/*
    test_import_threads.c - parsing on one thread, importing on another

    Whether there is a second thread or not, what comes out has the same bytes.
*/
#define _GNU_SOURCE // RTLD_NEXT
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#ifdef TRACESMITH_YAJL

static bool refuse_threads;
static int threads_made;

// In place of libc's.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *user)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                  void *);
    if (refuse_threads) return EAGAIN;
    threads_made++;
    void *const symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &symbol, sizeof create);
    return create(thread, attributes, run, user);
}

// Rows of every length with every tenth broken, so that batches end for each
// of their reasons and counts stand between rows.
static void put_rows(FILE *out, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(out,
                "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s%d\","
                "\"pid\":1,\"tid\":%d,\"ts\":%d.25,\"dur\":3,\"args\":{",
                i ? "," : "", i % 10 == 9 ? "a\\q" : "op", i % 50, i % 3,
                1000 + 4 * i);
        for (int k = 0; k < i % 80; k++)
            fprintf(out, "%s\"argument %d\":\"%0*d\"", k ? "," : "", k,
                    i % 700 == 699 ? 4000 : 8, i);
        fputs(i % 100 == 98 ? "}" : "}}\n", out);
    }
}

static void put_file(const char *path, int rows)
{
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    fputs("{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3},"
          "\"traceEvents\":[",
          out);
    put_rows(out, rows);
    fputs("],\"odd\":[1,2]}", out);
    assert_int_equal(0, fclose(out));
}

static char *bytes_of(const char *path, size_t *size)
{
    FILE *const in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(0, fseek(in, 0, SEEK_END));
    *size = (size_t)ftell(in);
    rewind(in);
    char *const bytes = malloc(*size);
    assert_int_equal(*size, fread(bytes, 1, *size, in));
    fclose(in);
    return bytes;
}

static void assert_same_tally(const import_tally *a, const import_tally *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->counters, b->counters,
                        a->count * sizeof *a->counters);
}

static void assert_same(const char *json)
{
    refuse_threads = false;
    threads_made = 0;
    imported two = import_into(json, fixture_path(1, "two.sbt"));
    assert_int_equal(1, threads_made);
    refuse_threads = true;
    imported one = import_into(json, fixture_path(2, "one.sbt"));
    assert_int_equal(two.job->rows, one.job->rows);
    assert_same_tally(&two.job->bad, &one.job->bad);
    assert_same_tally(&two.job->flawed, &one.job->flawed);
    assert_same_tally(&two.job->unowned, &one.job->unowned);
    import_done(&one);
    import_done(&two);
    size_t a_size, b_size;
    char *const a = bytes_of(fixture_path(1, "two.sbt"), &a_size);
    char *const b = bytes_of(fixture_path(2, "one.sbt"), &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
}

UNIT_TEST(two_threads_write_what_one_does)
{
    const int counts[] = { 0, 1, 255, 256, 257, 5000 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *const json = fixture_path(0, "rows.json");
        put_file(json, counts[i]);
        assert_same(json);
    }
}

UNIT_TEST(broken_rows_cost_only_themselves_on_two_threads)
{
    refuse_threads = false;
    put_file(fixture_path(0, "rows.json"), 5000);
    imported i =
        import_into(fixture_path(0, "rows.json"), fixture_path(1, "two.sbt"));
    // 50 rows lack a bracket.
    assert_int_equal(5000, i.job->rows);
    assert_int_equal(50, import_tallied(&i.job->bad, "broken_row"));
    assert_int_equal(4950, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(3, i.job->rank);
    import_done(&i);
}

UNIT_TEST(real_traces_too)
{
    assert_same(fixture_data("kineto/b200_eager_pdl.json.gz"));
}

#endif // TRACESMITH_YAJL

int main(void)
{
#ifdef TRACESMITH_YAJL
    return unit_run(fixture_begin, fixture_end);
#else
    puts("without yajl there is nothing to test");
    return 77;
#endif
}
