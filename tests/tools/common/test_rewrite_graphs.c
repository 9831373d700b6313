// Captured launches of graphs: what is damage, parts and merges of traces.
#define _GNU_SOURCE // mkdtemp
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"

typedef struct node {
    ts_capture_attribute attribute;
    ts_capture_operation head;
    uint32_t after[2];
    ts_capture_attribute own;
    uint64_t boxes; // what an attribute of a node's own may be
} node;

typedef struct record {
    ts_capture_operation head;
    uint8_t args[72];
    node nodes[2];
} record;

// Two kernels, of which the second waits for the first.
static record two_kernels(ts_writer *w)
{
    record r = { .head = { .type = TS_CAPTURE_OPERATION,
                           .track = STREAM,
                           .kind = TS_EVENT_GRAPH_LAUNCH,
                           .state = TS_CAPTURE_WHOLE,
                           .correlation = 2,
                           .order = 1,
                           .args_size = 72 } };
    for (uint32_t i = 0; i < 2; i++) {
        node *const n = &r.nodes[i];
        // Without positions it ends with the head; zeros fill it up.
        n->attribute.id = TS_ATTRIBUTE_NODE;
        n->attribute.size = sizeof n->head + 8 * i;
        n->head.kind = TS_EVENT_KERNEL;
        n->head.args_size = 8;
        n->head.image = i + 1;
        n->head.name = name_in(w, i ? "second" : "first");
        n->own.id = TS_ATTRIBUTE_PATTERN;
        n->own.size = 8;
    }
    return r;
}

// The first node has no positions: what follows lies 8 bytes further in front.
static void put_record(ts_writer *w, const record *r)
{
    uint8_t bytes[sizeof *r];
    const size_t to = offsetof(record, nodes) + offsetof(node, after);
    const size_t from = to + sizeof r->nodes[0].after;
    memcpy(bytes, r, to);
    memcpy(bytes + to, (const uint8_t *)r + from, sizeof *r - from);
    ts_writer_capture(w, bytes, sizeof *r - (from - to));
}

static void put_image(ts_writer *w, uint32_t id)
{
    const ts_module_entry module = { .path = name_in(w, "code") };
    ts_capture_image image = { .type = TS_CAPTURE_IMAGE, .id = id };
    image.module = ts_writer_module(w, &module, NULL, 0);
    ts_writer_capture(w, &image, sizeof image);
}

// Nodes lie on another track than the launch, as branches of a graph do.
static void make_graph(const char *name, record (*change)(record r))
{
    ts_writer_desc desc = { .path = path_of(name), .process = 77 };
    const made plain = { .rank = -1 };
    ts_writer *w;
    memcpy(desc.session, name, strlen(name));
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &plain);
    const ts_track_entry other = { .type = TS_TRACK_STREAM,
                                   .parent = DEVICE,
                                   .number = 8 };
    ts_writer_track(w, STREAM + 1, &other);
    for (int64_t i = 0; i < 3; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_CORRELATION, i == 2 ? 3u : 2u },
        };
        ts_writer_event(w, TS_EVENT_KERNEL, STREAM + 1, 10 + 20 * i, 10, values,
                        1);
    }
    put_image(w, 1);
    put_image(w, 2);
    record r = two_kernels(w);
    if (change) r = change(r);
    put_record(w, &r);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static void assert_nodes(ts_reader *reader, size_t index, uint32_t image)
{
    ts_capture_node n = { .index = 0 };
    ts_capture c;
    ts_attribute own;
    ts_capture_image code;
    assert_true(ts_reader_capture(reader, index, &c));
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(ts_capture_node_next(&c, &n));
        assert_string_equal(i ? "second" : "first",
                            ts_reader_name(reader, n.head.name).text);
        assert_int_equal(n.index, i + 1);
        assert_int_equal(n.args_at, 64 * i);
        assert_int_equal(n.after_count, 2 * i);
        assert_int_equal(n.head.image, image + i);
        assert_true(ts_reader_image(reader, n.head.image, &code));
        assert_true(
            ts_attribute_find(&n.attributes, TS_ATTRIBUTE_PATTERN, 8, &own));
        assert_int_equal(n.attributes.size, 16);
    }
    assert_false(ts_capture_node_next(&c, &n));
}

/* ---- Tests --------------------------------------------------------------- */

UNIT_TEST(parts_keep_a_launch_for_any_of_its_rows)
{
    make_graph("in.sbt", NULL);
    cut_file(path_of("in.sbt"), path_of("out.sbt"),
             (cut_options){ .timed = true, .from_ns = 25, .to_ns = 45 });
    ts_reader *reader = open_name("out.sbt");
    assert_int_equal(1, ts_reader_capture_count(reader));
    assert_nodes(reader, 0, 1);
    ts_reader_close(reader);
    cut_file(path_of("in.sbt"), path_of("out.sbt"),
             (cut_options){ .timed = true, .from_ns = 45, .to_ns = 90 });
    reader = open_name("out.sbt");
    assert_int_equal(0, ts_reader_capture_count(reader));
    ts_reader_close(reader);
}

UNIT_TEST(merged_nodes_have_the_code_of_their_process)
{
    static const char *const names[] = { "in.sbt", "other.sbt" };
    make_graph("in.sbt", NULL);
    make_graph("other.sbt", NULL);
    merge_job job = merge_names("merged.sbt", names, 2, NULL, false);
    merge_close(&job);
    ts_reader *const reader = open_name("merged.sbt");
    assert_int_equal(2, ts_reader_capture_count(reader));
    assert_nodes(reader, 0, 1);
    assert_nodes(reader, 1, 3);
    ts_reader_close(reader);
}

static record wait_for_itself(record r)
{
    r.nodes[1].after[1] = 1;
    return r;
}

static record be_an_event(record r)
{
    r.nodes[0].head.kind = TS_EVENT_EVENT_RECORD;
    return r;
}

static record have_more_arguments(record r)
{
    r.nodes[1].head.args_size = 9;
    return r;
}

static record have_far_more_arguments(record r)
{
    r.nodes[0].head.args_size = UINT32_MAX;
    return r;
}

static record be_short(record r)
{
    r.nodes[1].attribute.size = sizeof r.head - 8; // then come empty ones
    return r;
}

UNIT_TEST(nodes_that_contradict_themselves_are_damage)
{
    record (*const changes[])(record) = { wait_for_itself, be_an_event,
                                          have_more_arguments,
                                          have_far_more_arguments, be_short };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_graph("in.sbt", changes[i]);
        ts_reader *const reader = open_name("in.sbt");
        assert_int_equal(0, ts_reader_capture_count(reader));
        ts_reader_close(reader);
    }
}

int main(void)
{
    return unit_run(folder_begin, folder_end);
}
