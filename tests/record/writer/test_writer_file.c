/*
    test_writer_file.c - what a ts_writer leaves behind when something fails

    A file appears under its name, or replaces an older one, only when all of it
    was written.
*/
#include "tests/record/writer/writer_file.h"

UNIT_TEST(wrong_calls_are_kept_as_the_first_error)
{
    const ts_writer_value wrong = { TS_COLUMN_GRAPH, 1 };
    for (int i = 0; i < 5; i++) {
        ts_writer *const writer = begin();
        switch (i) {
        case 0:
            ts_writer_event(writer, TS_EVENT_LIMIT, 1, 0, 0, NULL, 0);
            break;
        case 1: ts_writer_event(writer, 99, 1, 0, 0, NULL, 0); break;
        case 2: ts_writer_event(writer, TS_EVENT_MARK, 0, 0, 0, NULL, 0); break;
        case 3:
            ts_writer_event(writer, TS_EVENT_MARK, 1, 0, 0, &wrong, 1);
            break;
        default:
            ts_writer_event_text(writer, TS_EVENT_MARK, 1, 0, 0, NULL, 0, "",
                                 0);
        }
        assert_int_equal(TS_ERR_USAGE, ts_writer_error(writer));
        assert_int_equal(TS_ERR_USAGE, ts_writer_close(writer));
        assert_int_equal(-1, size_of(part));
    }
}

UNIT_TEST(what_is_there_is_replaced_only_by_close)
{
    ts_reader_close(finish(begin()));
    const long before = size_of(path);
    ts_writer *writer = begin();
    for (uint64_t i = 0; i < 100000; i++)
        kernel(writer, 1, i);
    assert_int_equal(before, size_of(path));
    ts_writer_abandon(writer);
    assert_int_equal(before, size_of(path));
    assert_int_equal(-1, size_of(part));
    ts_writer *second = NULL;
    const ts_writer_desc desc = { .path = path };
    writer = begin();
    assert_int_equal(TS_ERR_BUSY, ts_writer_open(&second, &desc));
    assert_null(second);
    assert_int_equal(TS_OK, ts_writer_close(writer));
}

UNIT_TEST(a_path_that_is_no_file_is_refused)
{
    const char *const paths[] = { "/dev/null", "/tmp", "/nowhere/x.sbt" };
    ts_writer *writer;
    for (int i = 0; i < 3; i++) {
        const ts_writer_desc desc = { .path = paths[i] };
        assert_int_equal(i < 2 ? TS_ERR_NOT_FILE : TS_ERR_IO,
                         ts_writer_open(&writer, &desc));
        assert_null(writer);
    }
    const ts_writer_desc none = { .path = NULL };
    assert_int_equal(TS_ERR_USAGE, ts_writer_open(&writer, &none));
}

UNIT_TEST(a_full_disk_leaves_nothing_and_damages_nothing)
{
    struct rlimit old, small = { 1 << 20, RLIM_INFINITY };
    ts_reader_close(finish(begin()));
    const long before = size_of(path);
    ts_writer *const writer = begin();
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    uint64_t random = 1;
    for (uint64_t i = 0; i < 300000; i++)
        kernel(writer, 1, next(&random) % (1u << 30));
    assert_int_equal(TS_ERR_DISK_FULL, ts_writer_error(writer));
    assert_int_equal(TS_ERR_DISK_FULL, ts_writer_close(writer));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(before, size_of(path));
    assert_int_equal(-1, size_of(part));
}

int main(void)
{
    return unit_run(make_path, remove_path);
}
