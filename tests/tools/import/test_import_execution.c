/*
    test_import_execution.c - execution traces are joined with a profile
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/execution/execution.h"

#ifdef TRACESMITH_YAJL
#include <fcntl.h>

#define NODE \
    "{\"id\":7,\"name\":\"aten::add\",\"ctrl_deps\":3,\"inputs\":{\"values\":" \
    "[[4,5,0,6,4,\"cpu\"],2.5,\"<None>\"],\"shapes\":[[2,3],[],[]],\"types\":" \
    "[\"Tensor(float)\",\"Double\",\"None\"]},\"outputs\":{\"values\":[]," \
    "\"shapes\":[],\"types\":[]},\"attrs\":[{\"name\":\"rf_id\",\"type\":" \
    "\"uint64\",\"value\":11},{\"name\":\"seq_id\",\"type\":\"int64\"," \
    "\"value\":-1},{\"name\":\"kernel_file\",\"type\":\"string\",\"value\":" \
    "\"\"},{\"name\":\"deep\",\"type\":\"x\",\"value\":{\"a\":[null,true]}}]}"
#define TRACE(nodes) \
    "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":9,\"nodes\":[" nodes "]}"

static void save(const char *path, const char *bytes, size_t size)
{
    FILE *const out = fopen(path, "wb");
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    fclose(out);
}

// Reads a file. Returns whether all of it was good.
static bool add(import_executions *all, const char *bytes, size_t size)
{
    const char *const path = fixture_path(0, "execution.json");
    save(path, bytes, size);
    import_input *const input = import_input_open(&fixture_tool, path);
    const bool good =
        import_executions_add(all, &fixture_tool, import_input_next(input));
    import_input_close(input);
    return good;
}

// What a node is known as, "key=value " each, in the order of the file.
static const char *values_of(const import_executions *all, uint64_t id)
{
    static char text[1024];
    const execution_file *const file = &all->files[0];
    const uint64_t *const index = cli_map_find(&file->node_of, id);
    *text = 0;
    if (!index) return NULL;
    const execution_node *const node = &file->nodes[*index - 1];
    for (size_t at = node->at, room = 0; at < node->end;) {
        uint32_t size;
        memcpy(&size, file->bytes + at + 2, sizeof size);
        if (file->bytes[at] != 255)
            room += (size_t)snprintf(text + room, sizeof text - room,
                                     "%s=%.*s ", file->keys[file->bytes[at]],
                                     (int)size, file->bytes + at + 6);
        at += 6 + size;
    }
    return text;
}

UNIT_TEST(a_node_keeps_all_that_is_no_empty_text_or_list)
{
    import_executions all = { 0 };
    assert_true(add(&all, TRACE(NODE), sizeof TRACE(NODE) - 1));
    assert_int_equal(9, all.files[0].process);
    assert_string_equal("1.1.1-chakra.0.0.4", all.files[0].schema);
    assert_string_equal(
        "id=7 ctrl_deps=3 inputs=[[4,5,0,6,4,\"cpu\"],2.5,\"<None>\"] "
        "input_shapes=[[2,3],[],[]] "
        "input_types=[\"Tensor(float)\",\"Double\",\"None\"] seq_id=-1 "
        "deep={\"a\":[null,true]} ",
        values_of(&all, 11));
    import_executions_close(&all);
}

// Of one id and name the first node stays; 0 and no number are no id.
UNIT_TEST(nodes_without_an_id_of_their_own_are_left_out)
{
#define OLD(name, id) \
    "{\"name\":\"" name "\",\"rf_id\":" id ",\"parent\":1,\"inputs\":[1]," \
    "\"input_shapes\":[[]]}"
    static const char bytes[] = TRACE(OLD("a", "5") "," OLD("a", "5") "," OLD(
        "c", "0") "," OLD("d", "-2") "," OLD("", "6") "," OLD("e", "7"));
    import_executions all = { 0 };
    assert_true(add(&all, bytes, sizeof bytes - 1));
    assert_int_equal(2, all.files[0].count);
    assert_string_equal("ctrl_deps=1 inputs=[1] input_shapes=[[]] ",
                        values_of(&all, 5));
    assert_null(values_of(&all, 6));
    assert_non_null(values_of(&all, 7));
    import_executions_close(&all);
}

// Of a value only the first 64 KiB are kept.
UNIT_TEST(long_values_are_cut)
{
    enum { LONG = 200000 };
    import_executions all = { 0 };
    char *const bytes = malloc(LONG + 200);
    const int head = snprintf(bytes, 200, "%s",
                              "{\"schema\":\"1.0.1\",\"pid\":1,\"nodes\":[{"
                              "\"rf_id\":1,\"name\":\"a\",\"inputs\":[\"");
    memset(bytes + head, 'x', LONG);
    memcpy(bytes + head + LONG, "\"]}]}", 5);
    assert_true(add(&all, bytes, (size_t)head + LONG + 5));
    assert_int_equal(6 + EXECUTION_TEXT + 6 + 1, all.files[0].nodes[0].end);
    import_executions_close(&all);
    free(bytes);
}

UNIT_TEST(every_truncation_and_every_changed_byte_is_read_to_an_end)
{
    static const char whole[] = TRACE(NODE "," NODE);
    char bytes[sizeof whole];
    // A shorter file is not known as an execution trace.
    const size_t known = (size_t)(strstr(whole, "rf_id") - whole) + 6;
    const int said = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    assert_true(said >= 0 && dup2(null, STDERR_FILENO) == STDERR_FILENO);
    for (size_t size = 1; size < sizeof whole - 1; size++) {
        import_executions all = { 0 };
        const bool good = add(&all, whole, size);
        assert_true(!good || size < known);
        import_executions_close(&all);
    }
    for (size_t at = 0; at < sizeof whole - 1; at++) {
        import_executions all = { 0 };
        memcpy(bytes, whole, sizeof whole);
        bytes[at] ^= (char)(1 + at % 255);
        add(&all, bytes, sizeof whole - 1);
        import_executions_close(&all);
    }
    dup2(said, STDERR_FILENO);
    close(said);
    close(null);
}

// Joins this profile with these nodes; returns the row's arguments.
static void expect_joined(const char *nodes, const char *row,
                          const char *expected)
{
    import_executions all = { 0 };
    add(&all, nodes, strlen(nodes));
    const char *const path = fixture_path(0, "profile.json");
    save(path, row, strlen(row));
    imported i = { .input = import_input_open(&fixture_tool, path) };
    extern const import_format import_kineto;
    ts_result result;
    i.job = import_job_open(&fixture_tool, import_input_next(i.input),
                            &import_kineto, fixture_path(1, "x.sbt"), &result);
    i.job->executions = &all;
    assert_true(import_kineto.import(i.job));
    import_executions_end(i.job);
    char text[200] = "";
    snprintf(text, sizeof text, "args %d, flawed %d, left %d, unused %d",
             (int)i.job->events[TS_EVENT_ZONE_ARG], (int)i.job->flawed.total,
             (int)i.job->unowned.total, !all.files[0].all);
    assert_string_equal(expected, text);
    assert_int_equal(TS_OK, import_job_end(i.job, true));
    import_job_close(i.job);
    import_input_close(i.input);
    import_executions_close(&all);
}

#define ROW(name, pid, id) \
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name \
    "\",\"pid\":" pid ",\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"Record " \
    "function id\":" id "}}]}"

UNIT_TEST(process_id_and_name_must_be_equal)
{
    expect_joined(TRACE(NODE), ROW("aten::add", "9", "11"),
                  "args 8, flawed 0, left 0, unused 0");
    expect_joined(TRACE(NODE), ROW("aten::add", "8", "11"),
                  "args 1, flawed 0, left 0, unused 1");
    expect_joined(TRACE(NODE), ROW("aten::add", "9", "12"),
                  "args 1, flawed 0, left 0, unused 1");
    expect_joined(TRACE(NODE), ROW("aten::mul", "9", "11"),
                  "args 1, flawed 1, left 0, unused 1");
    // Nodes of one id: the name tells.
    expect_joined(TRACE(OLD("b", "11") "," NODE), ROW("aten::add", "9", "11"),
                  "args 8, flawed 0, left 1, unused 0");
    expect_joined(TRACE(NODE "," NODE), ROW("aten::add", "9", "11"),
                  "args 8, flawed 1, left 0, unused 0");
    expect_joined(TRACE(NODE "," OLD("b", "3")), ROW("aten::add", "9", "11"),
                  "args 8, flawed 0, left 1, unused 0");
}

/* ---- Numbers and lists --------------------------------------------------- */

// Joins node 11, "a", with a profile: the trace says this.
static void expect_text(const char *nodes, size_t size, const char *expected)
{
    import_executions all = { 0 };
    assert_true(add(&all, nodes, size));
    const char *const row = ROW("a", "9", "11");
    const char *const path = fixture_path(0, "profile.json");
    save(path, row, strlen(row));
    imported i = { .input = import_input_open(&fixture_tool, path) };
    extern const import_format import_kineto;
    ts_result result;
    const char *const output = fixture_path(1, "x.sbt");
    i.job = import_job_open(&fixture_tool, import_input_next(i.input),
                            &import_kineto, output, &result);
    i.job->executions = &all;
    assert_true(import_kineto.import(i.job));
    assert_true(import_executions_end(i.job));
    assert_int_equal(TS_OK, import_job_end(i.job, true));
    const ts_reader_desc desc = { .path = output, .threads = 1 };
    assert_int_equal(TS_OK, ts_reader_open(&i.reader, &desc));
    char *const text = import_dump(&i);
    if (!strstr(text, expected)) fail_msg("no \"%s\" in\n%s", expected, text);
    free(text);
    import_done(&i);
    import_executions_close(&all);
}

UNIT_TEST(numbers_beyond_int64_keep_their_digits)
{
#define BIG(number) TRACE("{\"rf_id\":11,\"name\":\"a\",\"big\":" number "}")
#define EXPECT(number, expected) \
    expect_text(BIG(number), sizeof BIG(number) - 1, expected)
    EXPECT("9223372036854775807", " value=9223372036854775807\n");
    EXPECT("9223372036854775808", " \"9223372036854775808\"\n");
    EXPECT("18446744073709551615", " \"18446744073709551615\"\n");
    EXPECT("-9223372036854775808", " value=-9223372036854775808\n");
}

typedef struct chakra_bytes {
    uint8_t data[80 << 10];
    size_t size;
} chakra_bytes;

static void put_varint(chakra_bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->size++] = (uint8_t)(value | 0x80);
    b->data[b->size++] = (uint8_t)value;
}

static void put_bytes(chakra_bytes *b, uint32_t field, const void *bytes,
                      size_t size)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, size);
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

// A file of the process 9 with node 11, "a", and these other fields.
static void expect_chakra(const void *fields, size_t size, const char *expected)
{
    static chakra_bytes file, node;
    static const char head[] = "\x09\x12\x07\x0a\x03pid\x68\x09";
    static const char id[] = "\x0a\x05rf_id\x68\x0b";
    node.size = 0;
    put_bytes(&node, 2, "a", 1);
    put_bytes(&node, 10, id, sizeof id - 1);
    memcpy(node.data + node.size, fields, size);
    node.size += size;
    file.size = sizeof head - 1;
    memcpy(file.data, head, sizeof head - 1);
    put_varint(&file, node.size);
    memcpy(file.data + file.size, node.data, node.size);
    expect_text((const char *)file.data, file.size + node.size, expected);
}

static void expect_attribute(const char *value, size_t size,
                             const char *expected)
{
    static chakra_bytes a, all;
    a.size = all.size = 0;
    put_bytes(&a, 1, "key", 3);
    memcpy(a.data + a.size, value, size);
    a.size += size;
    put_bytes(&all, 10, a.data, a.size);
    expect_chakra(all.data, all.size, expected);
}

// Each type of a value, and lists of them, packed or not.
UNIT_TEST(attributes_of_chakra_are_numbers_and_lists)
{
#define VALUE(bytes, expected) \
    expect_attribute(bytes, sizeof bytes - 1, expected)
    VALUE("\x19\0\0\0\0\0\0\xf8\x3f", " value=4609434218613702656\n"); // 1.5
    VALUE("\x2d\0\0\x20\x40", " value=4612811918334230528\n");         // 2.5
    VALUE("\x68\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
          " \"9223372036854775808\"\n"); // uint64
    VALUE("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", " value=-1\n");
    VALUE("\x88\x01\x03", " value=-2\n");             // sint64
    VALUE("\xbd\x01\xfe\xff\xff\xff", " value=-2\n"); // sfixed32
    VALUE("\x22\x0a\x0a\x08\0\0\0\0\0\0\xf8\x3f", " \"[1.5]\"\n");
    VALUE("\x52\x04\x0a\x02\x01\x02", " \"[1,2]\"\n");
    VALUE("\x52\x04\x08\x01\x08\x02", " \"[1,2]\"\n");
    VALUE("\xf2\x01\x06\x0a\x01\x22\x0a\x01z", " \"[\"\\\"\",\"z\"]\"\n");
    // Not a number; a list that ends within a value; no value at all.
    VALUE("\x19\0\0\0\0\0\0\xf8\x7f",
          "no place values of an execution trace 1\n");
    VALUE("\x52\x03\x0a\x01\x80", "no place values of an execution trace 1\n");
    VALUE("", "no place values of an execution trace 1\n");
}

UNIT_TEST(dependencies_of_chakra_are_whole)
{
    static chakra_bytes packed, all;
    static char list[40 << 10] = "[";
    size_t at = 1;
    expect_chakra("\x20\x05\x20\x06", 4, " \"[5,6]\"\n");
    for (unsigned i = 1000; i < 5000; i++) {
        put_varint(&packed, i);
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%u",
                               at > 1 ? "," : "", i);
    }
    snprintf(list + at, sizeof list - at, "]");
    put_bytes(&all, 5, packed.data, packed.size);
    expect_chakra(all.data, all.size, list);
    packed.size = all.size = 0;
    for (unsigned i = 0; i < 12000; i++)
        put_varint(&packed, i + 10000);
    put_bytes(&all, 5, packed.data, packed.size);
    expect_chakra(all.data, all.size, "flawed truncated_execution_value 1\n");
}

UNIT_TEST(keys_without_a_place_are_counted)
{
    enum { KEYS = EXECUTION_KEYS + 3 };
    static char text[KEYS * 16 + 1000];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "{\"schema\":\"1\",\"pid\":9,\"nodes\":[{"
                                 "\"rf_id\":11,\"name\":\"a\",\"");
    for (int i = 0; i < 60; i++)
        text[at++] = 'l'; // longer than most, but known
    at += (size_t)snprintf(text + at, sizeof text - at, "\":1,\"");
    for (int i = 0; i < EXECUTION_KEY; i++)
        text[at++] = 'x';
    at += (size_t)snprintf(text + at, sizeof text - at, "\":1");
    for (int i = 0; i < KEYS - 2; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ",\"k%d\":1", i);
    at += (size_t)snprintf(text + at, sizeof text - at, "}]}");
    expect_text(text, at, "no place values of an execution trace 3\n");
    expect_text(text, at, "name=et.llllllllllllllllllllllllllllllll");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}

#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("yajl")
#endif
