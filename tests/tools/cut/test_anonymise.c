/*
    test_anonymise.c - ts-cut --anonymise leaves nothing of the input's texts

        test_anonymise TRACE...   checks these traces instead

    Every text of a trace (names, and texts of events) that has four
    characters or more is looked for in the anonymised one: in all its texts,
    and, from eight characters on, in the bytes of the file, which is not
    compressed. Fewer characters are bound to stand somewhere in numbers.
*/
#define _GNU_SOURCE // mkdtemp, memmem
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"

typedef struct bytes {
    char *data;
    size_t size, capacity;
    uint64_t *windows; // a bit for each hash of four bytes in a row
} bytes;
enum { WINDOWS = 1 << 24 };

static void bytes_add(bytes *b, const void *data, size_t size)
{
    while (b->size + size + 1 > b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 1 << 16;
        b->data = realloc(b->data, b->capacity);
        assert_non_null(b->data);
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size++] = '\n'; // texts do not run together
}

static uint32_t window(const char *four)
{
    uint32_t value;
    memcpy(&value, four, sizeof value);
    return (value * 0x9E3779B9u) >> 8;
}

static void bytes_index(bytes *b)
{
    b->windows = calloc(WINDOWS / 64, sizeof *b->windows);
    assert_non_null(b->windows);
    for (size_t i = 0; i + 4 <= b->size; i++) {
        const uint32_t w = window(b->data + i);
        b->windows[w / 64] |= UINT64_C(1) << w % 64;
    }
}

static bool bytes_have(const bytes *b, ts_text text)
{
    for (size_t i = 0; i + 4 <= text.size; i++) {
        const uint32_t w = window(text.text + i);
        if (!(b->windows[w / 64] >> w % 64 & 1)) return false;
    }
    return memmem(b->data, b->size, text.text, text.size) != NULL;
}

static void bytes_close(bytes *b)
{
    free(b->data);
    free(b->windows);
}

// Calls `take` for every text in a trace.
static void each_text(ts_reader *reader, void (*take)(void *user, ts_text text),
                      void *user)
{
    const uint32_t names = ts_reader_info(reader)->name_count;
    ts_columns columns = { 0 };
    ts_chunk_info info;
    for (uint32_t i = 1, found = 0; found < names && i < 1u << 20; i++) {
        const ts_text name = ts_reader_name(reader, i);
        found += name.size != 0;
        if (name.size) take(user, name);
    }
    for (uint32_t i = 1; i < 1000; i++)
        if (ts_reader_build_id(reader, i).size)
            take(user, ts_reader_build_id(reader, i));
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            ts_reader_decode(reader, i, &columns) != TS_OK)
            continue;
        for (uint32_t k = 0; columns.text_sizes && k < columns.count; k++)
            take(user, (ts_text){ columns.texts[k], columns.text_sizes[k] });
    }
    ts_columns_close(reader, &columns);
}

// Words that the tool itself writes, and those of its fixed list.
static bool is_allowed(ts_text text)
{
    static const char words[] =
        "zone_ category_ function_ file_ kernel_ collective_ host_function_ "
        "call_ argument_ pool_ module_ process_ thread_ device_ context_ "
        "stream_ counter_ track_ unit_ key_ value_ detail_ text_ _AllReduce "
        "_AllGather _ReduceScatter _AllToAll _Broadcast _SendRecv _Send _Recv "
        "_Barrier _Gather _Scatter _Reduce anonymised SBT1 SBTC "
        "cudaMemcpyAsync";
    bool number = true;
    for (int role = 0; role < COPY_ROLES; role++)
        if (cut_is_public((copy_role)role, text)) return true;
    for (size_t i = 0; i < text.size; i++)
        number &= text.text[i] >= '0' && text.text[i] <= '9';
    return number || memmem(words, sizeof words - 1, text.text, text.size);
}

// Part of a name that stays: "cudaMemcpy" in "cudaMemcpyAsync".
static bool is_in_public(const bytes *kept, ts_text text)
{
    return bytes_have(kept, text);
}

typedef struct search {
    bytes texts, file, kept; // of the output; what may stay of the input
    uint64_t looked_for, found;
} search;

static void keep_public(void *user, ts_text text)
{
    search *const s = user;
    for (int role = 0; role < COPY_ROLES; role++)
        if (cut_is_public((copy_role)role, text)) {
            bytes_add(&s->kept, text.text, text.size);
            return;
        }
}

static void add_text(void *user, ts_text text)
{
    bytes_add(user, text.text, text.size);
}

static void look_for(void *user, ts_text text)
{
    search *const s = user;
    if (text.size < 4 || is_allowed(text)) return;
    s->looked_for++;
    if (!bytes_have(&s->texts, text) &&
        (text.size < 8 || !bytes_have(&s->file, text)))
        return;
    if (is_in_public(&s->kept, text)) return;
    if (s->found++ < 20)
        print_message("it is still there: '%.*s'\n", (int)text.size, text.text);
}

static void read_file(bytes *to, const char *path)
{
    static char part[1 << 16];
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t size; (size = fread(part, 1, sizeof part, file)) > 0;) {
        bytes_add(to, part, size);
        to->size--; // without a gap
    }
    fclose(file);
}

static void anonymise(const char *path, const char *out)
{
    cut_file(path, out,
             (cut_options){ .anonymise = true, .what = "--anonymise" });
}

static ts_reader *reader_of(const char *path)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    return reader;
}

// How many texts were looked for.
static uint64_t check(const char *path)
{
    const char *const out = path_of("anonymous.sbt");
    search s = { 0 };
    anonymise(path, out);
    ts_reader *const before = reader_of(path), *const after = reader_of(out);
    each_text(after, add_text, &s.texts);
    each_text(before, keep_public, &s);
    bytes_add(&s.kept, "", 0);
    read_file(&s.file, out);
    bytes_index(&s.texts);
    bytes_index(&s.file);
    bytes_index(&s.kept);
    each_text(before, look_for, &s);
    assert_int_equal(0, s.found);
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        assert_int_equal(ts_reader_info(before)->counts[kind],
                         ts_reader_info(after)->counts[kind]);
    ts_reader_close(before);
    ts_reader_close(after);
    bytes_close(&s.texts);
    bytes_close(&s.file);
    bytes_close(&s.kept);
    return s.looked_for;
}

/* ---- Tests --------------------------------------------------------------- */

static uint32_t secret_site(ts_writer *w)
{
    const ts_site_entry site = {
        .name = name_in(w, "SecretZone"),
        .category = name_in(w, "SecretCategory"),
        .function = name_in(w, "secret_function"),
        .file = name_in(w, "/home/secret/project/secret.cpp"),
        .line = 77,
    };
    return ts_writer_site(w, &site);
}

static uint32_t secret_stack(ts_writer *w)
{
    const ts_module_entry module = {
        .path = name_in(w, "/home/secret/libsecret.so"), .address = 4096
    };
    const ts_frame_entry frame = {
        .module = ts_writer_module(w, &module, "SecretBuildId", 13), .offset = 5
    };
    return ts_writer_stack(w, &frame, 1);
}

// A text in every place that can hold one.
static void make_secret(const char *path)
{
    const ts_writer_desc desc = { .path = path,
                                  .start_raw_ns = 5,
                                  .start_boottime_ns = 5 };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    for (uint32_t type = TS_TRACK_PROCESS; type <= TS_TRACK_COUNTER; type++) {
        const ts_track_entry track = {
            .type = (uint8_t)type,
            .name = name_in(w, cli_format("SecretTrack%" PRIu32, type).s),
            .unit = name_in(w, "SecretUnits")
        };
        ts_writer_track(w, type, &track);
        copy_note_text(w, type, "SecretKey", "SecretValue");
    }
    copy_note_text(w, 0, "host", "secret.example.com");
    copy_note_text(w, 0, "boot_id", "SecretBoot");
    copy_note_number(w, 0, "rank", 3);
    ts_writer_loss(w, 2, TS_LOSS_BACKEND, name_in(w, "SecretLoss"), 1, 1, 2);
    ts_writer_blob(w, "SecretBlobContents", 18, NULL);
    const ts_writer_value zone = { TS_COLUMN_SITE, secret_site(w) };
    const ts_writer_value alloc[] = {
        { TS_COLUMN_POOL, name_in(w, "SecretPool") },
        { TS_COLUMN_CATEGORY, name_in(w, "SecretCategory2") },
        { TS_COLUMN_STACK, secret_stack(w) },
    };
    const ts_writer_value call = { TS_COLUMN_NAME,
                                   name_in(w, "cudaStreamSynchronize_v3020") };
    const ts_writer_value own = { TS_COLUMN_NAME, name_in(w, "cudaSecret") };
    const ts_writer_value collective = {
        TS_COLUMN_NAME, name_in(w, "ncclSecret_AllReduce_Sum")
    };
    const ts_writer_value argument[] = {
        { TS_COLUMN_SITE, secret_site(w) },
        { TS_COLUMN_NAME, name_in(w, "SecretArgument") },
        { TS_COLUMN_TYPE, TS_VALUE_TEXT },
    };
    const ts_launch_entry launch = { .name = name_in(w, "secret_kernel<int>") };
    const ts_writer_value kernel = { TS_COLUMN_LAUNCH,
                                     ts_writer_launch(w, &launch) };
    ts_writer_event(w, TS_EVENT_ZONE, 2, 10, 20, &zone, 1);
    ts_writer_event(w, TS_EVENT_ALLOC, 2, 11, 0, alloc, 3);
    ts_writer_event(w, TS_EVENT_API_CALL, 2, 12, 1, &call, 1);
    ts_writer_event(w, TS_EVENT_API_CALL, 2, 14, 1, &own, 1);
    ts_writer_event(w, TS_EVENT_KERNEL, 5, 15, 1, &kernel, 1);
    ts_writer_event(w, TS_EVENT_COLLECTIVE, 5, 17, 1, &collective, 1);
    ts_writer_event_text(w, TS_EVENT_MESSAGE, 2, 12, 0, NULL, 0,
                         "SecretMessage", 13);
    ts_writer_event_text(w, TS_EVENT_MESSAGE, 2, 13, 0, NULL, 0,
                         "SecretMessage", 13);
    ts_writer_event_text(w, TS_EVENT_ZONE_ARG, 2, 10, 0, argument, 3,
                         "SecretText", 10);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

UNIT_TEST(no_text_of_any_place_is_left)
{
    char *const path = path_of("secret.sbt");
    make_secret(path);
    assert_in_range(check(path), 25, 100);
    bytes file = { 0 };
    read_file(&file, path_of("anonymous.sbt"));
    assert_null(memmem(file.data, file.size, "ecret", 5));
    bytes_close(&file);
}

static bool is(ts_text text, const char *wanted)
{
    return text.size == strlen(wanted) && !memcmp(text.text, wanted, text.size);
}

UNIT_TEST(what_tools_go_by_stays)
{
    ts_metadata m;
    ts_track track;
    char *const path = path_of("secret.sbt");
    uint64_t raw_ns, boottime_ns, hash[2];
    make_secret(path);
    check(path);
    ts_reader *const reader = open_name("anonymous.sbt");
    assert_true(ts_reader_metadata(reader, 0, "rank", &m));
    assert_int_equal(3, m.number);
    assert_true(ts_reader_metadata(reader, 0, "anonymised", &m));
    // Nothing that ties it to a machine, no file that it came from.
    assert_false(ts_reader_metadata(reader, 0, "boot_id", &m));
    assert_false(ts_reader_metadata(reader, 0, "cut.of", &m));
    assert_false(ts_reader_boot(reader, &raw_ns, &boottime_ns));
    assert_false(ts_reader_blob_at(reader, 0, hash));
    assert_true(ts_reader_track(reader, 5, &track));
    assert_true(is(track.name, "stream_1"));
    bool call = false, other = false, kernel = false, file = false;
    bool collective = false;
    for (uint32_t i = 1; i < 100; i++) {
        const ts_text name = ts_reader_name(reader, i);
        call |= is(name, "cudaStreamSynchronize_v3020");
        other |= is(name, "call_2"); // no function that everybody knows
        kernel |= is(name, "kernel_1");
        file |= is(name, "file_1.cpp");
        collective |= is(name, "collective_1_AllReduce");
    }
    assert_true(call && other && kernel && file && collective);
    ts_reader_close(reader);
}

/* ---- Two who ran the same program ---------------------------------------- */

// What tells one run of a program from another's.
typedef struct identity {
    const char *user, *host, *device;
    uint32_t pid, tids[2];
    uint64_t start_ns, boot_ns, module, heap, libraries, gpu, handle;
    uint8_t session;
} identity;
static const identity alice = {
    .user = "alice",
    .host = "ws-17.physics.example.org",
    .device = "GPU-7e1b-0000:3b:00.0",
    .pid = 48213,
    .tids = { 48213, 48219 },
    .start_ns = UINT64_C(1760000000123456789),
    .boot_ns = UINT64_C(81234567890123),
    .module = UINT64_C(0x55d0c0a01000),
    .heap = UINT64_C(0x55d0c2f3b2a0),
    .libraries = UINT64_C(0x7f3a81c02000),
    .gpu = UINT64_C(0x7f2e00000000),
    .handle = UINT64_C(0x7f3a81d4e1c0),
    .session = 0xA1,
};
static const identity bob = {
    .user = "bob.van.der.berg",
    .host = "gpu-node-0931",
    .device = "GPU-99aa-0000:af:00.0",
    .pid = 1207,
    .tids = { 1207, 1208 },
    .start_ns = UINT64_C(1764321987654321000),
    .boot_ns = UINT64_C(987654321),
    .module = UINT64_C(0x5604111f7000),
    .heap = UINT64_C(0x560412b5d2a0),
    .libraries = UINT64_C(0x7fc40e94b000),
    .gpu = UINT64_C(0x7fbb40000000),
    .handle = UINT64_C(0x7fc40ea9d1c0),
    .session = 0xB0,
};

static uint32_t of_user(ts_writer *w, const identity *who, const char *text)
{
    return name_in(w, cli_format(text, who->user).s);
}

static void write_about(ts_writer *w, const identity *who)
{
    const ts_track_entry process = { .type = TS_TRACK_PROCESS,
                                     .name = of_user(w, who, "/home/%s/train"),
                                     .number = who->pid };
    ts_writer_track(w, 1, &process);
    for (uint32_t i = 0; i < 2; i++) {
        const ts_track_entry thread = { .type = TS_TRACK_THREAD,
                                        .parent = 1,
                                        .name = of_user(w, who, "%s's worker"),
                                        .number = who->tids[i] };
        ts_writer_track(w, 2 + i, &thread);
    }
    const ts_track_entry stream = { .type = TS_TRACK_STREAM,
                                    .parent = 1,
                                    .number = who->handle };
    ts_writer_track(w, 4, &stream);
    copy_note_text(w, 0, "host", who->host);
    copy_note_text(w, 0, "user", who->user);
    copy_note_text(w, 0, "boot_id", who->host);
    copy_note_text(w, 0, "command",
                   cli_format("./train --out=/home/%s", who->user).s);
    copy_note_text(w, 4, "device.uuid", who->device);
    copy_note_number(w, 0, "pid", who->pid);
    copy_note_number(w, 0, "clock.hz", who->tids[1] * INT64_C(1000));
    copy_note_number(w, 0, "records", 7);
    // Not everybody's environment is as large.
    if (who == &bob) copy_note_text(w, 0, "SLURM_JOB_ACCOUNT", "berg-group");
    ts_writer_clock(w, 1000, who->start_ns + 1000, who->boot_ns + 1000, 20);
}

static uint32_t write_stack(ts_writer *w, const identity *who)
{
    const char id[2] = { (char)who->session, 1 };
    const ts_module_entry module = { .path = of_user(w, who,
                                                     "/home/%s/libtrain.so"),
                                     .address = who->module,
                                     .size = 8192 };
    const ts_frame_entry frames[] = {
        { .module = ts_writer_module(w, &module, id, 2), .offset = 0x71 },
        { .module = 0, .offset = who->libraries + 0x1234 }, // made at run time
    };
    return ts_writer_stack(w, frames, 2);
}

static void write_alloc(ts_writer *w, int64_t at, uint64_t address,
                        uint64_t size, uint32_t stack)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, address },
                                       { TS_COLUMN_SIZE, size },
                                       { TS_COLUMN_STACK, stack } };
    ts_writer_event(w, TS_EVENT_ALLOC, 2, at, 0, values, 3);
}

static void write_work(ts_writer *w, const identity *who)
{
    const uint32_t stack = write_stack(w, who);
    const ts_writer_value copied[] = {
        { TS_COLUMN_CORRELATION, 3 },
        { TS_COLUMN_SIZE, 4096 },
        { TS_COLUMN_SOURCE, who->heap + 64 },
        { TS_COLUMN_ADDRESS, who->gpu + 512 },
    };
    const ts_writer_value event = { TS_COLUMN_ID, who->handle + 128 };
    const ts_writer_value joined[] = {
        { TS_COLUMN_COMMUNICATOR, who->handle * 0x9E3779B97F4A7C15u },
        { TS_COLUMN_RANKS, 8 },
    };
    const ts_writer_value freed = { TS_COLUMN_ADDRESS, who->heap };
    const char *const text = cli_format("loaded /home/%s/data", who->user).s;
    write_alloc(w, 10, who->heap, 8192, stack);
    write_alloc(w, 11, who->libraries, 64, stack);
    write_alloc(w, 12, who->gpu, UINT64_C(5) << 30, stack);
    ts_writer_event(w, TS_EVENT_MEMCPY, 4, 20, 30, copied, 4);
    ts_writer_event(w, TS_EVENT_EVENT_RECORD, 4, 55, 0, &event, 1);
    ts_writer_event(w, TS_EVENT_COLLECTIVE, 4, 60, 5, joined, 2);
    ts_writer_event_text(w, TS_EVENT_MESSAGE, 3, 70, 0, NULL, 0, text,
                         strlen(text));
    ts_writer_event(w, TS_EVENT_FREE, 2, 80, 0, &freed, 1);
    ts_writer_loss(w, 2, TS_LOSS_BACKEND,
                   of_user(w, who, "no room in /home/%s"), 1, 1, 2);
    ts_writer_blob(w, who, sizeof *who, NULL);
}

// The bytes of the anonymised trace of whoever ran it.
static bytes run_of(const identity *who)
{
    char *const path = path_of(cli_format("%s.sbt", who->user).s);
    ts_writer_desc desc = { .path = path,
                            .process = who->pid,
                            .start_realtime_ns = who->start_ns,
                            .start_raw_ns = who->boot_ns,
                            .start_boottime_ns = who->boot_ns };
    memset(desc.session, who->session, sizeof desc.session);
    ts_writer *w;
    bytes file = { 0 };
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    write_about(w, who);
    write_work(w, who);
    assert_int_equal(TS_OK, ts_writer_close(w));
    anonymise(path, path_of("anonymous.sbt"));
    read_file(&file, path_of("anonymous.sbt"));
    return file;
}

UNIT_TEST(who_ran_it_where_and_when_makes_no_difference)
{
    bytes a = run_of(&alice), b = run_of(&bob);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    bytes_close(&a);
    bytes_close(&b);
}

static uint64_t first_value(ts_reader *reader, uint64_t kinds, ts_column column)
{
    const ts_filter filter = { .kinds = kinds };
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, &filter));
    assert_true(ts_cursor_next(cursor, &event));
    const uint64_t value = ts_event_value(&event, column);
    ts_cursor_close(cursor);
    return value;
}

// What lies in an allocation lies there still, and is as far from its begin.
UNIT_TEST(addresses_keep_their_relations)
{
    bytes file = run_of(&alice);
    ts_track track;
    ts_reader *const reader = open_name("anonymous.sbt");
    const uint64_t heap =
        first_value(reader, TS_FILTER(ALLOC), TS_COLUMN_ADDRESS);
    assert_int_equal(heap + 64,
                     first_value(reader, TS_FILTER(MEMCPY), TS_COLUMN_SOURCE));
    assert_int_equal(heap,
                     first_value(reader, TS_FILTER(FREE), TS_COLUMN_ADDRESS));
    assert_int_equal(heap % 4096, alice.heap % 4096);
    assert_true(ts_reader_track(reader, 1, &track));
    assert_int_equal(1, track.number);
    assert_int_equal(1, ts_reader_info(reader)->process);
    assert_true(ts_reader_track(reader, 2, &track)); // the main thread
    assert_int_equal(1, track.number);
    assert_true(ts_reader_track(reader, 3, &track));
    assert_int_equal(2, track.number);
    assert_int_equal(0, ts_reader_info(reader)->start_realtime_ns);
    ts_reader_close(reader);
    bytes_close(&file);
}

UNIT_TEST(equal_texts_stay_equal)
{
    char *const path = path_of("secret.sbt");
    const ts_filter filter = { .kinds = TS_FILTER(MESSAGE) };
    ts_cursor *cursor;
    ts_event a, b;
    char first[64] = "";
    make_secret(path);
    check(path);
    ts_reader *const reader = open_name("anonymous.sbt");
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, &filter));
    assert_true(ts_cursor_next(cursor, &a));
    const size_t size = ts_event_text(&a).size;
    memcpy(first, ts_event_text(&a).text, size);
    assert_true(ts_cursor_next(cursor, &b));
    assert_int_equal(size, ts_event_text(&b).size);
    assert_memory_equal(first, ts_event_text(&b).text, size);
    assert_memory_equal("text_", first, 5);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
}

// A search that finds nothing must be able to find something.
UNIT_TEST(the_search_finds_what_is_there)
{
    bytes b = { 0 };
    bytes_add(&b, "xxneedle in", 11);
    bytes_add(&b, "a haystack", 10);
    bytes_index(&b);
    assert_true(bytes_have(&b, (ts_text){ "needle", 6 }));
    assert_true(bytes_have(&b, (ts_text){ "tack", 4 }));
    assert_false(bytes_have(&b, (ts_text){ "in a", 4 }));
    assert_false(is_allowed((ts_text){ "needle", 6 }));
    assert_true(is_allowed((ts_text){ "kernel", 6 }));
    bytes_close(&b);
}

static int check_files(int count, char **paths)
{
    void *state = NULL;
    if (folder_begin(&state)) return 1;
    for (int i = 0; i < count; i++)
        printf("%s: %" PRIu64 " texts, none of them left\n", paths[i],
               check(paths[i]));
    return folder_end(&state);
}

int main(int argc, char **argv)
{
    if (argc > 1) return check_files(argc - 1, argv + 1);
    return unit_run(folder_begin, folder_end);
}
