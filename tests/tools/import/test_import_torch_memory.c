/*
    test_import_torch_memory.c - memory snapshots of PyTorch become traces

    snapshot.pickle and older.pickle were written by pickle.dump of CPython,
    from dictionaries as torch.cuda.memory._snapshot returns them.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/torch/pickle.h"

UNIT_TEST(allocations_come_with_their_stacks)
{
    import_expect(
        "tests/tools/import/torch/snapshot.pickle",
        "1700000000000000000+0 alloc on device 0/thread 0 allocator "
        "address=139637976729088 size=2048 pool=cuda:0 "
        "stack=forward@train.py(train.py:10)<main@train.py(train.py:2)\n"
        "1700000000000000000+0 counter on device 0/counter 0 reserved memory "
        "type=1\n"
        "1700000000000000000+0 counter on device 0/counter 0 reserved memory "
        "type=1 value=2097152\n"
        "1700000000000001000+0 alloc on device 0/thread 0 allocator "
        "address=139637976727552 size=512 pool=cuda:0 "
        "stack=forward@train.py(train.py:10)<main@train.py(train.py:2)\n"
        "1700000000000002000+0 alloc on device 0/thread 0 allocator "
        "address=139637976728064 size=1024 pool=cuda:0 "
        "stack=step@opt.py(opt.py:7)\n"
        "1700000000000004000+0 free on device 0/thread 0 allocator "
        "address=139637976727552 pool=cuda:0\n"
        "1700000000000005000+0 mark on device 0/thread 0 allocator site=out of "
        "memory/allocator\n"
        "no place free_requested 1\n");
}

// Without times there is an order; blocks lie behind each other.
UNIT_TEST(a_history_without_times_keeps_its_order)
{
    import_expect("tests/tools/import/torch/older.pickle",
                  "1000+0 alloc on device 1/thread 0 allocator address=9 "
                  "size=8 pool=cuda:1\n"
                  "1000+0 alloc on device 1/thread 0 allocator address=5120 "
                  "size=512 pool=cuda:1 stack=step@opt.py(opt.py:7)\n"
                  "1000+0 counter on device 1/counter 0 reserved memory type=1 "
                  "value=8292\n"
                  "2000+0 free on device 1/thread 0 allocator address=9 "
                  "pool=cuda:1\n"
                  "4000+0 counter on device 1/counter 0 reserved memory type=1 "
                  "value=8192\n"
                  "bad broken_row 1\n"
                  "estimated time 4\n");
}

/* ---- What is refused ---------------------------------------------------- */

// Begins as a snapshot does.
#define HEAD "\x80\x04}\x94(\x8c\x08segments\x94"

static void assert_refused(const char *bytes, size_t size)
{
    const char *const path = fixture_path(0, "made.pickle");
    FILE *const out = fopen(path, "wb");
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    fclose(out);
    unlink(fixture_path(1, "out.sbt"));
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    assert_null(i.reader);
    assert_int_equal(-1, access(fixture_path(1, "out.sbt"), F_OK));
    import_job_close(i.job);
    import_input_close(i.input);
}

// Each instruction that would name, make or call something of Python.
UNIT_TEST(nothing_of_a_pickle_is_called)
{
    static const char codes[] = "cRbioPQ\x81\x82\x83\x84\x92\x93\x97\x98";
    for (size_t i = 0; i < sizeof codes - 1; i++) {
        char bytes[64] = HEAD "]]";
        const size_t size = sizeof HEAD "]]" - 1;
        bytes[size] = codes[i];
        memcpy(bytes + size + 1, "os\nsystem\n.", 11);
        assert_refused(bytes, size + 12);
    }
}

UNIT_TEST(damaged_pickles_are_refused)
{
    static const char *const endings[] = {
        "ju..",   // u: a dictionary of odd parts
        "hx..",   // a value that is not there
        "]e.",    // the mark is below the dictionary
        "]K\1s.", // a list as dictionary
        "11.",    // no mark
        "d.",     // odd parts
        "0000.",  // more than there is
        "\x8d\xff\xff\xff\xff\xff\xff\xff\x7f" // a text without end
    };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char bytes[64] = HEAD;
        const size_t size = strlen(endings[i]);
        memcpy(bytes + sizeof HEAD - 1, endings[i], size);
        assert_refused(bytes, sizeof HEAD - 1 + size);
    }
    static const char other[] = HEAD "]u."; // a dictionary without a history
    assert_refused(other, sizeof other - 1);
}

UNIT_TEST(a_cut_snapshot_is_refused)
{
    char bytes[4096];
    FILE *const in = fopen("tests/tools/import/torch/snapshot.pickle", "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    for (size_t part = 40; part < size; part += 7)
        assert_refused(bytes, part);
}

// Parts may be used many times over; reading ends after as many as there are
// bytes.
UNIT_TEST(parts_that_repeat_end_the_reading)
{
    char bytes[8192] = HEAD "](}(\x8c\x06"
                            "blocks](";
    size_t size = sizeof HEAD "](}(\x8c\x06"
                              "blocks](" -
                  1;
    for (int i = 0; i < 1000; i++)
        bytes[size++] = '}';
    memcpy(bytes + size, "eu\x94", 3);
    size += 3;
    for (int i = 0; i < 1000; i++) {
        memcpy(bytes + size, "h\2", 2);
        size += 2;
    }
    memcpy(bytes + size, "eu.", 3);
    const char *const path = fixture_path(0, "made.pickle");
    FILE *const out = fopen(path, "wb");
    fwrite(bytes, 1, size + 3, out);
    fclose(out);
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    assert_non_null(i.reader);
    assert_int_equal(1, import_tallied(&i.job->bad, "repeated_parts"));
    assert_in_range(i.job->rows, 1000, size);
    import_done(&i);
}

/* ---- Memory ------------------------------------------------------------- */

static FILE *open_made(void)
{
    FILE *const out = fopen(fixture_path(0, "made.pickle"), "wb");
    assert_non_null(out);
    return out;
}

static void put_repeated(FILE *out, const char *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fputs(codes, out);
}

// A tuple within a tuple within ..., a byte each.
UNIT_TEST(containers_have_no_spare_room)
{
    FILE *const out = open_made();
    fputs(HEAD "N", out);
    put_repeated(out, "\x85", 1000);
    fputs("]Na(NNNe.", out);
    fclose(out);
    import_input *const input =
        import_input_open(&fixture_tool, fixture_path(0, "made.pickle"));
    import_source *const source = import_input_next(input);
    ts_result result;
    import_job *const job =
        import_job_open(&fixture_tool, source, import_formats[0],
                        fixture_path(1, "out.sbt"), &result);
    pickle_value value;
    pickle *const p = pickle_open(job, &value);
    assert_non_null(p);
    assert_int_equal(1002, p->box_count);
    for (size_t i = 1; i < 1002; i++)
        assert_int_equal(p->boxes[i].count, p->boxes[i].room);
    assert_int_equal(4, pickle_count(p, value));
    pickle_close(p);
    import_job_close(job);
    import_input_close(input);
}

UNIT_TEST(a_pickle_that_needs_too_much_memory_is_refused)
{
    FILE *const out = open_made();
    fputs(HEAD "N", out);
    put_repeated(out, "\x85\x94", 8 << 20);
    fputs(".", out);
    fclose(out);
    imported i =
        import_into(fixture_path(0, "made.pickle"), fixture_path(1, "out.sbt"));
    assert_null(i.reader);
    import_job_close(i.job);
    import_input_close(i.input);
}

/* ---- What is counted ---------------------------------------------------- */

#define TEXT(size, text) "\x8c" size text

static imported import_made(void)
{
    imported i =
        import_into(fixture_path(0, "made.pickle"), fixture_path(1, "out.sbt"));
    assert_non_null(i.reader);
    return i;
}

UNIT_TEST(a_stack_beyond_the_limit_is_flawed)
{
    FILE *const out = open_made();
    fputs(HEAD "]" TEXT("\x0d", "device_traces") "](](}(" TEXT("\x06", "action")
              TEXT("\x05", "alloc") TEXT("\x06", "frames") "](",
          out);
    put_repeated(out, "}", 4097);
    fputs("eueeu.", out);
    fclose(out);
    imported i = import_made();
    assert_int_equal(1, i.job->events[TS_EVENT_ALLOC]);
    assert_int_equal(1, import_tallied(&i.job->flawed, "deep_stack"));
    import_done(&i);
}

UNIT_TEST(external_annotations_are_counted)
{
    FILE *const out = open_made();
    fputs(HEAD "]" TEXT("\x14", "external_annotations") "](}}}eu.", out);
    fclose(out);
    imported i = import_made();
    assert_int_equal(3, i.job->rows);
    assert_int_equal(3,
                     import_tallied(&i.job->unowned, "external_annotations"));
    import_done(&i);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
