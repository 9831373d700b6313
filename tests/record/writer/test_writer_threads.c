/*
    test_writer_threads.c - a writer with workers writes what one without does
*/
#include "tests/record/writer/writer_file.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

enum { ROWS = 3000, BATCHES = 60 };

typedef struct bytes {
    uint8_t *at;
    size_t size;
} bytes;

static bytes slurp(void)
{
    bytes all = { .size = (size_t)size_of(path) };
    FILE *const file = fopen(path, "rb");
    all.at = malloc(all.size);
    assert_non_null(file);
    assert_int_equal(all.size, fread(all.at, 1, all.size, file));
    fclose(file);
    return all;
}

static ts_writer *begin_with(uint32_t threads, bool compress)
{
    const ts_writer_desc desc = { .path = path,
                                  .threads = threads,
                                  .compress = compress,
                                  .start_raw_ns = 1000 };
    ts_writer *writer = NULL;
    const ts_result result = ts_writer_open(&writer, &desc);
    if (result == TS_ERR_UNSUPPORTED) skip();
    assert_int_equal(TS_OK, result);
    return writer;
}

// Rows of one track or of several, whose numbers no compressor can guess.
static void write_rows(ts_writer *w, uint32_t batch, uint64_t *random)
{
    static int64_t start_ns[ROWS], duration_ns[ROWS];
    static uint64_t numbers[ROWS];
    static uint32_t tracks[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        start_ns[i] = (int64_t)batch * ROWS * 100 + (int64_t)i * 100;
        duration_ns[i] = (int64_t)(next(random) % 100);
        numbers[i] = next(random) % 1000000;
        tracks[i] = 1 + i % 7;
    }
    ts_rows rows = { .kind = batch % 2 ? TS_EVENT_KERNEL : TS_EVENT_ZONE,
                     .count = ROWS,
                     .track = 1,
                     .tracks = batch % 3 ? NULL : tracks,
                     .start_ns = start_ns,
                     .duration_ns = duration_ns };
    rows.values[TS_COLUMN_SITE] = numbers;
    rows.values[TS_COLUMN_CORRELATION] = numbers;
    ts_writer_rows(w, &rows);
}

// Everything that is appended, in a mixed order: dictionaries, blobs small and
// large, clocks, losses, chunks of rows, single events and texts.
static void write_all(ts_writer *w)
{
    static uint8_t blob[3 << 20];
    uint64_t random = 7;
    char name[32];
    for (uint32_t batch = 0; batch < BATCHES; batch++) {
        snprintf(name, sizeof name, "name %" PRIu32, batch);
        const uint32_t id = ts_writer_name(w, name, strlen(name));
        const ts_site_entry site = { .name = id, .line = batch };
        ts_writer_site(w, &site);
        if (batch % 10 == 1) {
            blob[0] = (uint8_t)batch;
            ts_writer_blob(w, blob, batch == 21 ? sizeof blob : 100, NULL);
        }
        if (batch % 10 == 2)
            ts_writer_clock(w, batch, 5000 + batch, 900 + batch, 1);
        if (batch % 10 == 3) ts_writer_loss(w, 1, 1, id, batch, 1, 2);
        ts_writer_metadata(w, 0, name, TS_VALUE_INT, batch);
        write_rows(w, batch, &random);
        kernel(w, 2, batch);
        ts_writer_event_text(w, TS_EVENT_MESSAGE, 3, batch, 0, NULL, 0, name,
                             strlen(name));
    }
    ts_writer_origin(w, 5, 6);
}

static void compare(bool compress)
{
    const uint32_t threads[] = { 0, 1, 2, 5, 1000 };
    bytes first = { NULL, 0 };
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        ts_writer *const w = begin_with(threads[i], compress);
        write_all(w);
        ts_reader_close(finish(w));
        const bytes now = slurp();
        if (!i) first = now;
        if (!i) continue;
        assert_int_equal(first.size, now.size);
        assert_memory_equal(first.at, now.at, now.size);
        free(now.at);
    }
    free(first.at);
}

UNIT_TEST(any_number_of_threads_writes_the_same_bytes)
{
    compare(false);
}

UNIT_TEST(any_number_of_threads_compresses_to_the_same_bytes)
{
    compare(true);
}

/* Sanitizers reserve more addresses than any limit allows, and do not give
   freed memory back. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

// Threads of this process.
static int threads_now(void)
{
    int count = 0;
    DIR *const folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder));)
        count += e->d_name[0] != '.';
    closedir(folder);
    return count;
}

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// CPU time of all threads but this one.
static uint64_t cpu_of_others_ns(void)
{
    const uint64_t mine = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    return all > mine ? all - mine : 0;
}

UNIT_TEST(workers_are_started_and_work)
{
    const int before = threads_now();
    const uint64_t idle_ns = cpu_of_others_ns();
    int most = before;
    uint64_t random = 7, worked_ns = 0;
    // Compressed, so that one worker cannot keep up with the caller.
    ts_writer *const w = begin_with(5, true);
    for (uint32_t batch = 0; batch < 20 * BATCHES; batch++) {
        write_rows(w, batch, &random);
        const int now = threads_now();
        if (now > most) most = now;
        worked_ns = cpu_of_others_ns() - idle_ns;
        if (most > before + 1 && worked_ns > 1000000) break;
    }
    assert_true(most > before + 1);
    assert_true(most <= before + 5); // 4 workers, and one of a sanitizer
    assert_true(worked_ns > 1000000);
    assert_int_equal(TS_OK, ts_writer_close(w));
#ifndef SANITIZED // they may start a thread of their own
    // A thread that has been joined disappears a moment later.
    for (int i = 0; i < 1000 && threads_now() != before; i++)
        usleep(1000);
    assert_int_equal(before, threads_now());
#endif
}

UNIT_TEST(a_trace_of_a_single_chunk_starts_no_worker)
{
    const int before = threads_now();
    uint64_t random = 7;
    ts_writer *const w = begin_with(5, false);
    write_rows(w, 1, &random);
    for (uint32_t i = 0; i < 20; i++) {
        ts_writer_name(w, (const char *)&i, sizeof i);
        ts_writer_blob(w, &i, sizeof i, NULL);
        ts_writer_capture(w, &i, sizeof i); // writes the name first
    }
    assert_int_equal(before, threads_now());
    assert_int_equal(TS_OK, ts_writer_close(w));
}

UNIT_TEST(a_child_of_fork_frees_the_writer_and_touches_nothing)
{
    static const uint32_t threads[] = { 1, 5 };
    for (uint32_t i = 0; i < 4; i++) {
        int status = 1;
        uint64_t random = 7;
        ts_writer *const w = begin_with(threads[i / 2], false);
        for (uint32_t batch = 0; batch < 30; batch++)
            write_rows(w, batch, &random);
        const long size = size_of(part);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            if (i % 2) ts_writer_abandon(w);
            _exit(i % 2 ? 0 : ts_writer_close(w) != TS_ERR_USAGE);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_int_equal(0, status);
        assert_int_equal(size, size_of(part));
        ts_reader_close(finish(w));
    }
}

// The address space that this process has.
static rlim_t space(void)
{
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) abort();
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

// Writes with so much more memory than the process has; returns the result.
static int result_within(uint32_t threads, rlim_t more)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = { space() + more, RLIM_INFINITY };
        const ts_writer_desc desc = { .path = path,
                                      .threads = threads,
                                      .start_raw_ns = 1000 };
        ts_writer *w = NULL;
        if (setrlimit(RLIMIT_AS, &limit)) _exit(100);
        if (ts_writer_open(&w, &desc) != TS_OK) _exit(101);
        write_all(w);
        _exit((int)ts_writer_close(w));
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

UNIT_TEST(memory_that_is_enough_for_one_thread_is_enough_for_any_number)
{
#ifdef SANITIZED
    skip();
#endif
    static const uint32_t threads[] = { 2, 5, 32 };
    int enough = 0;
    for (rlim_t more = 8 << 20; more < 200 << 20; more += more / 4) {
        const int alone = result_within(1, more);
        if (alone) continue;
        enough++;
        const bytes first = slurp();
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            assert_int_equal(TS_OK, result_within(threads[i], more));
            const bytes now = slurp();
            assert_int_equal(first.size, now.size);
            assert_memory_equal(first.at, now.at, now.size);
            free(now.at);
        }
        free(first.at);
    }
    assert_true(enough > 3);
}

UNIT_TEST(a_full_disk_leaves_nothing_whatever_the_threads)
{
    const uint32_t threads[] = { 1, 2, 5 };
    struct rlimit old, small = { 1 << 20, RLIM_INFINITY };
    ts_reader_close(finish(begin()));
    const long before = size_of(path);
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        ts_writer *const w = begin_with(threads[i], false);
        uint64_t random = 7;
        assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
        for (uint32_t batch = 0; batch < 200; batch++)
            write_rows(w, batch, &random);
        assert_int_equal(TS_ERR_DISK_FULL, ts_writer_error(w));
        assert_int_equal(TS_ERR_DISK_FULL, ts_writer_close(w));
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(before, size_of(path));
        assert_int_equal(-1, size_of(part));
    }
}

// Makes a writer that gets no worker: no system has room for such a stack.
static ts_writer *begin_without_workers(uint32_t threads, bool compress)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 60);
    assert_int_equal(0, pthread_setattr_default_np(&attributes));
    pthread_attr_destroy(&attributes);
    return begin_with(threads, compress);
}

// What waits when an error is found is neither encoded nor compressed.
UNIT_TEST(after_an_error_nothing_more_is_encoded)
{
    const struct rlimit small = { 1 << 20, RLIM_INFINITY };
    enum { WAITING = 60 };
    uint64_t random = 7, took_ns[2];
    for (int fails = 0; fails < 2; fails++) {
        ts_writer *const w = begin_without_workers(32, true);
        if (fails) {
            assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
            for (uint32_t i = 0; i < 1000 && !ts_writer_error(w); i++)
                write_rows(w, i, &random);
            assert_int_equal(TS_ERR_DISK_FULL, ts_writer_error(w));
        }
        for (uint32_t i = 0; i < WAITING; i++)
            write_rows(w, i, &random);
        const uint64_t before_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
        assert_int_equal(fails ? TS_ERR_DISK_FULL : TS_OK, ts_writer_close(w));
        took_ns[fails] = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
    }
    assert_true(took_ns[1] < took_ns[0] / 2);
}

UNIT_TEST(the_first_error_is_kept_though_it_is_found_later)
{
    static const uint32_t threads[] = { 1, 32 };
    struct rlimit old, small = { 1 << 20, RLIM_INFINITY };
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    for (int i = 0; i < 4; i++) {
        uint64_t random = 7;
        ts_writer *const w = begin_without_workers(threads[i / 2], false);
        assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
        for (uint32_t batch = 0; batch < 60; batch++)
            write_rows(w, batch, &random);
        // Found later with threads: all chunks still wait.
        assert_int_equal(i < 2 ? TS_ERR_DISK_FULL : TS_OK, ts_writer_error(w));
        const ts_writer_value wrong = { TS_COLUMN_TEXT, 1 };
        if (i % 2)
            ts_writer_event(w, TS_EVENT_KERNEL, 1, 0, 0, &wrong, 1);
        else
            ts_writer_event(w, TS_EVENT_KERNEL, 0, 0, 0, NULL, 0);
        assert_int_equal(TS_ERR_DISK_FULL, ts_writer_error(w));
        assert_int_equal(TS_ERR_DISK_FULL, ts_writer_close(w));
        setrlimit(RLIMIT_FSIZE, &old);
    }
}

UNIT_TEST(a_trace_given_up_ends_the_workers_and_leaves_nothing)
{
    for (uint32_t batches = 1; batches < 40; batches += 6) {
        ts_writer *const w = begin_with(5, false);
        uint64_t random = 7;
        for (uint32_t batch = 0; batch < batches; batch++)
            write_rows(w, batch, &random);
        ts_writer_abandon(w);
        assert_int_equal(-1, size_of(part));
    }
}

// KiB that a process needed at most which writes a long trace.
static long most_memory(uint32_t threads)
{
    int pipes[2];
    long most = 0;
    assert_int_equal(0, pipe(pipes));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        struct rusage usage;
        uint64_t random = 7;
        const ts_writer_desc desc = { .path = path, .threads = threads };
        ts_writer *w = NULL;
        if (ts_writer_open(&w, &desc) != TS_OK) _exit(1);
        for (uint32_t batch = 0; batch < 500; batch++)
            write_rows(w, batch, &random);
        if (ts_writer_close(w) != TS_OK) _exit(2);
        getrusage(RUSAGE_SELF, &usage);
        most = usage.ru_maxrss;
        _exit(write(pipes[1], &most, sizeof most) != sizeof most);
    }
    int status = 1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(0, status);
    assert_int_equal(sizeof most, read(pipes[0], &most, sizeof most));
    close(pipes[0]);
    close(pipes[1]);
    return most;
}

// Of chunks that wait there are at most two a thread, however slow the workers
// are and however long the trace.
UNIT_TEST(memory_is_bounded_by_the_number_of_threads)
{
#ifdef SANITIZED
    skip();
#endif
    if (getenv("QEMU_LD_PREFIX")) skip(); // what it translates is counted, too
    const long alone = most_memory(1);
    for (uint32_t threads = 2; threads <= 8; threads += 3) {
        // Chunks of that many rows take half a MiB each.
        const long more = most_memory(threads) - alone;
        assert_in_range(more, 0, 1280 * (threads + 1));
    }
}

int main(void)
{
    return unit_run_alone(make_path, remove_path);
}
