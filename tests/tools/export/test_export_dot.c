/*
    test_export_dot.c - graphs for Graphviz: names, parts, runs
*/
#define _GNU_SOURCE
#include "tests/replay/graph/replay_forge.h"
#include "tools/export/dot.h"
#include <unistd.h>

static char path[] = "/tmp/test_export_dot.XXXXXX";

static char *draw(fixture *work, const dot_options *options, dot_counts *counts)
{
    const char *why;
    ts_result error;
    const ts_output output = { .path = path };
    export_out *const out = export_out_open(&output, EXPORT_PLAIN, &why);
    assert_non_null(out);
    assert_int_equal(DOT_OK,
                     export_dot(work->reader, out, options, counts, &error));
    assert_int_equal(0, export_out_close(out, true));
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    char *const text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

// Strings end, braces and brackets match outside of them, and nothing is in
// them that Graphviz would take for something else.
static void check_grammar(const char *text)
{
    int braces = 0, brackets = 0;
    bool quoted = false;
    for (; *text; text++) {
        if (quoted) {
            assert_true((unsigned char)*text >= 0x20);
            if (*text == '&') assert_memory_equal("&amp;", text, 5);
            if (*text == '\\') {
                text++;
                assert_non_null(strchr("\\\"n", *text));
            } else if (*text == '"') {
                quoted = false;
            }
            continue;
        }
        if (*text == '"') quoted = true;
        braces += (*text == '{') - (*text == '}');
        brackets += (*text == '[') - (*text == ']');
        assert_true(braces >= 0 && brackets >= 0);
    }
    assert_false(quoted);
    assert_int_equal(0, braces);
    assert_int_equal(0, brackets);
}

// With Graphviz, if it is there.
static void check_drawing(void)
{
    char command[128];
    if (system("command -v dot >/dev/null 2>&1")) return;
    snprintf(command, sizeof command,
             "timeout 60 dot -Tsvg %s >/dev/null 2>%s.err", path, path);
    assert_int_equal(0, system(command));
    snprintf(command, sizeof command,
             "test ! -s %s.err; s=$?; rm %s.err; "
             "exit $s",
             path, path);
    assert_int_equal(0, system(command));
}

UNIT_TEST(operations_and_what_they_waited_for_are_drawn)
{
    fixture work = WORK(crossing);
    const dot_options options = { 0 };
    dot_counts counts;
    char *const text = draw(&work, &options, &counts);
    check_grammar(text);
    check_drawing();
    assert_int_equal(5, counts.operations);
    assert_int_equal(5, counts.calls);
    assert_int_equal(10, counts.nodes);
    // Threads and streams: 3 + 2; launches: 5; the event.
    assert_int_equal(3 + 2 + 5 + 1, counts.edges);
    assert_int_equal(1, count_of(text, "label=\"event\""));
    // Host, two threads, two devices, three streams.
    assert_int_equal(8, count_of(text, "subgraph cluster_"));
    free(text);
    work_close(&work);
}

UNIT_TEST(hostile_names_stay_within_their_quotes)
{
    static const char *const names[] = { "\"]; node [label=\"",
                                         "\\N \\",
                                         "&lt;&amp;&#1;",
                                         "a\nb\r\t\x01",
                                         "\xFF\xC3(\xE2\x82",
                                         "<<<<((((",
                                         "::",
                                         "a::b<c>(d)::",
                                         "(",
                                         "" };
    enum { COUNT = sizeof names / sizeof *names };
    op ops[COUNT];
    call calls[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        const op o = { .kind = TS_EVENT_COLLECTIVE,
                       .track = S0,
                       .start = 10 * i + 5,
                       .end = 10 * i + 9,
                       .queued = UNKNOWN,
                       .correlation = i + 1,
                       .name = names[i] };
        const call c = { HOST, 10 * i, 10 * i + 1, i + 1, names[i], 0 };
        ops[i] = o;
        calls[i] = c;
    }
    fixture work = WORK_CALLS(ops, calls);
    dot_counts counts;
    for (int i = 0; i < 2; i++) {
        const dot_options options = { .collapse = i };
        char *const text = draw(&work, &options, &counts);
        check_grammar(text);
        check_drawing();
        free(text);
    }
    work_close(&work);
}

UNIT_TEST(inferred_edges_are_dashed_and_tell_how_far_they_reach)
{
    // The second kernel follows one on another stream, which nothing records.
    const op ops[] = {
        { .kind = K,
          .track = S0,
          .start = 10000,
          .end = 900000,
          .queued = 1000,
          .correlation = 1,
          .thread = HOST },
        { .kind = K,
          .track = S0 + 1,
          .start = 901500,
          .end = 950000,
          .queued = 2000,
          .correlation = 2,
          .thread = HOST },
    };
    fixture work = WORK(ops);
    const dot_options options = { 0 };
    dot_counts counts;
    char *const text = draw(&work, &options, &counts);
    const ts_graph graph = ts_replay_graph(work.replay);
    size_t inferred = 0;
    for (uint32_t e = 0; e < graph.edge_count; e++)
        inferred += (graph.kinds[e] & TS_EDGE_INFERRED) != 0;
    assert_int_equal(inferred, count_of(text, "style=dashed"));
    assert_int_equal(inferred, count_of(text, "inferred: 1.500 us apart"));
    free(text);
    work_close(&work);
}

UNIT_TEST(a_range_leaves_out_what_is_outside)
{
    fixture work = WORK(crossing);
    const dot_options options = { .from_ns = 53, .to_ns = 70 };
    dot_counts counts;
    char *const text = draw(&work, &options, &counts);
    check_grammar(text);
    assert_int_equal(1, counts.operations);
    assert_int_equal(1, counts.calls); // which launched it earlier
    assert_int_equal(1, counts.edges);
    assert_true(counts.left_out >= 2);
    free(text);
    const dot_options late = { .from_ns = 1000, .to_ns = 2000 };
    const dot_options few = { .limit = 9 };
    ts_result error;
    assert_int_equal(DOT_NOTHING,
                     export_dot(work.reader, NULL, &late, &counts, &error));
    assert_int_equal(DOT_TOO_MANY,
                     export_dot(work.reader, NULL, &few, &counts, &error));
    assert_int_equal(10, counts.nodes);
    work_close(&work);
}

UNIT_TEST(runs_end_where_others_wait_or_are_waited_for)
{
    const op ops[] = {
        { K, S0, 10, 20, 0, 1, 0, 0, HOST },
        { K, S0, 20, 30, 1, 2, 0, 0, HOST },
        { R, S0, 30, 30, 2, 3, 7, 0, HOST }, // ends a run
        { K, S0, 30, 40, 3, 4, 0, 0, HOST },
        { K, S0, 40, 50, 4, 5, 0, 0, HOST },
        { K, S0 + 1, 8, 12, 5, 6, 0, 0, HOST },
        { W, S0 + 1, 12, 31, 6, 7, 7, 0, HOST }, // begins one
        { K, S0 + 1, 33, 40, 7, 8, 0, 0, HOST },
    };
    fixture work = WORK(ops);
    const dot_options options = { .collapse = true };
    dot_counts counts;
    char *const text = draw(&work, &options, &counts);
    check_grammar(text);
    check_drawing();
    // Two runs on the one stream, a kernel and a run on the other; calls for
    // each of these.
    assert_int_equal(8, counts.operations);
    assert_int_equal(4 + 4, counts.nodes);
    assert_int_equal(4 + 3 + 2 + 1, counts.edges);
    free(text);
    work_close(&work);
}

/* ---- So many nodes ------------------------------------------------------ */

UNIT_TEST(streams_are_cut_where_they_idled_longest)
{
    const op ops[] = {
        { K, S0, 10, 20, 0, 1, 0, 0, HOST },
        { K, S0, 21, 30, 1, 2, 0, 0, HOST }, // 50 of nothing behind it
        { K, S0, 80, 90, 2, 3, 0, 0, HOST },
        { K, S0, 110, 120, 3, 4, 0, 0, HOST }, // 20 before it
        { K, S0, 120, 130, 4, 5, 0, 0, HOST },
    };
    static const struct {
        uint64_t nodes, drawn, edges;
    } cases[] = {
        { 1, 2, 1 },   // one for the stream and one for the thread at least
        { 4, 4, 4 },   // cut at 50: two of each, their order, two launches
        { 5, 4, 4 },   // a third cut would need a sixth node
        { 6, 6, 7 },   // at 20, too
        { 99, 10, 13 } // everything
    };
    fixture work = WORK(ops);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const dot_options options = { .nodes = cases[i].nodes };
        dot_counts counts;
        char *const text = draw(&work, &options, &counts);
        check_grammar(text);
        assert_int_equal(5, counts.operations);
        assert_int_equal(cases[i].drawn, counts.nodes);
        assert_int_equal(cases[i].edges, counts.edges);
        if (cases[i].nodes == 4)
            assert_int_equal(
                1,
                count_of(text, "[fillcolor=\"#c6e0b4\","
                               "peripheries=2,label=\"kernel x 2\\n20 ns\""));
        free(text);
    }
    check_drawing();
    work_close(&work);
}

enum { MOST = 512 };

// reach[a][b]: there is a way from a to b.
static void close_over(bool (*reach)[MOST], uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; reach[i][k] && j < count; j++)
                reach[i][j] |= reach[k][j];
}

static uint32_t owner_of(const fixture *work, uint32_t node)
{
    ts_node n;
    assert_true(ts_replay_node(work->replay, node, &n));
    return n.type == TS_NODE_END ? n.owner : node;
}

// What is left out of the edges of a coarse graph follows from those kept.
static void check_coarse_ways(const fixture *work, uint64_t nodes)
{
    static bool all[MOST][MOST], kept[MOST][MOST];
    const ts_graph graph = ts_replay_graph(work->replay);
    if (graph.node_count > MOST) return;
    memset(all, 0, sizeof all);
    memset(kept, 0, sizeof kept);
    const dot_options options = { .nodes = nodes };
    dot_graph g;
    dot_graph_open(&g, work->replay, &options);
    for (uint32_t i = 0; i < graph.node_count; i++)
        for (uint32_t e = graph.offsets[i]; e < graph.offsets[i + 1]; e++) {
            const uint32_t from = g.leader[owner_of(work, i)];
            const uint32_t to = g.leader[owner_of(work, graph.targets[e])];
            if (from != DOT_NONE && to != DOT_NONE) all[from][to] = true;
        }
    size_t count;
    dot_edge *const edges = dot_graph_edges(&g, &count);
    for (size_t i = 0; i < count; i++)
        kept[edges[i].from][edges[i].to] = true;
    export_resize(edges, 0);
    close_over(all, graph.node_count);
    close_over(kept, graph.node_count);
    for (uint32_t i = 0; i < graph.node_count; i++) {
        if (i < graph.operation_count + graph.call_count)
            assert_int_not_equal(DOT_NONE, g.leader[i]);
        for (uint32_t j = 0; j < graph.node_count; j++)
            if (i != j) assert_int_equal(all[i][j], kept[i][j]);
    }
    // Four streams, and calls to each of them from two threads.
    assert_true(g.counts.nodes <= (nodes > 12 ? nodes : 12));
    dot_graph_close(&g);
}

/* ---- Random graphs ------------------------------------------------------ */

// Runs of a graph have the ways between them that their members have.
static void check_ways(const fixture *work)
{
    static bool own[MOST][MOST], runs[MOST][MOST], expected_items[MOST][MOST];
    const ts_graph graph = ts_replay_graph(work->replay);
    if (graph.node_count > MOST) return;
    memset(own, 0, sizeof own);
    memset(runs, 0, sizeof runs);
    memset(expected_items, 0, sizeof expected_items);
    const dot_options options = { .collapse = true };
    dot_graph g;
    dot_graph_open(&g, work->replay, &options);
    for (uint32_t i = 0; i < graph.node_count; i++)
        for (uint32_t e = graph.offsets[i]; e < graph.offsets[i + 1]; e++)
            own[owner_of(work, i)][owner_of(work, graph.targets[e])] = true;
    size_t count;
    dot_edge *const edges = dot_graph_edges(&g, &count);
    for (size_t i = 0; i < count; i++)
        runs[edges[i].from][edges[i].to] = true;
    export_resize(edges, 0);
    close_over(own, graph.node_count);
    close_over(runs, graph.node_count);
    for (uint32_t i = 0; i < graph.node_count; i++)
        for (uint32_t j = 0; j < graph.node_count; j++) {
            const uint32_t from = g.leader[i], to = g.leader[j];
            if (own[i][j] && from != DOT_NONE && to != DOT_NONE && from != to)
                expected_items[from][to] = true;
        }
    for (uint32_t i = 0; i < graph.node_count; i++)
        for (uint32_t j = 0; j < graph.node_count; j++)
            if (i != j) assert_int_equal(expected_items[i][j], runs[i][j]);
    dot_graph_close(&g);
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*state >> 33) * limit >> 31);
}

UNIT_TEST(runs_keep_every_way_and_make_none)
{
    static const uint8_t kinds[] = { K, K, K, K, K, R, W, SS, TS_EVENT_MEMCPY };
    static const uint32_t tracks[] = { S0, S0 + 1, LEGACY, T0 };
    uint64_t state = 7;
    for (int round = 0; round < 60; round++) {
        op ops[32];
        uint64_t now[4] = { 0 };
        const size_t count = 2 + random_below(&state, 30);
        for (size_t i = 0; i < count; i++) {
            const uint32_t stream = random_below(&state, 4);
            const uint64_t start = now[stream] + 1 + random_below(&state, 9);
            const op o = { .kind = kinds[random_below(&state, sizeof kinds)],
                           .track = tracks[stream],
                           .start = start,
                           .end = start + random_below(&state, 9),
                           .queued = i < start ? i : start,
                           .correlation = i + 1,
                           .id = 1 + random_below(&state, 2),
                           .thread = random_below(&state, 4) ? HOST : OTHER };
            now[stream] = o.end;
            ops[i] = o;
        }
        fixture work = work_with(ops, count, NULL, 0, NULL, 0);
        check_ways(&work);
        for (uint64_t nodes = 2; nodes < 40; nodes += 5)
            check_coarse_ways(&work, nodes);
        work_close(&work);
    }
}

int main(void)
{
    const int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    const int failed = unit_run(NULL, NULL);
    unlink(path);
    return failed;
}
