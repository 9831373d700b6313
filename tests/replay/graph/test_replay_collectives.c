/*
    test_replay_collectives.c - collectives and point-to-point, computed by
                                hand

    Each test first replays its trace as recorded, where every nanosecond must
    come out, and then with one operation longer or shorter: only what depends
    on it may move.
*/
#include "tests/replay/graph/replay_forge.h"

#define C TS_EVENT_COLLECTIVE

// Number `seq` on communicator 5, which the name and the rest are of.
#define MEET(at, from, to, seq) \
    { \
        .kind = C, .track = at, .start = from, .end = to, .queued = UNKNOWN, \
        .name = "all_reduce", .communicator = 5, .sequence = seq, \
    }
#define WORK_AT(at, from, to) \
    { \
        .kind = K, .track = at, .start = from, .end = to, .queued = UNKNOWN, \
    }

static void close_all(fixture *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        work_close(&parts[i]);
}

static const op two_devices[] = {
    WORK_AT(S0, 0, 10), MEET(S0, 12, 40, 1), WORK_AT(S0, 42, 50),
    WORK_AT(T0, 0, 25), MEET(T0, 28, 40, 1), WORK_AT(T0, 41, 50),
};

UNIT_TEST(a_collective_ends_after_the_last_has_begun)
{
    fixture x = WORK(two_devices);
    work_change(&x, T0, 0, 45);
    work_expect(&x, T0, 28, 48, 60);
    work_expect(&x, S0, 12, 12, 60); // begins when it did, and waits
    work_expect(&x, S0, 42, 62, 70);
    work_expect(&x, T0, 41, 61, 70);
    work_change(&x, S0, 0, 5);
    work_expect(&x, S0, 12, 7, 40);
    work_expect(&x, S0, 42, 42, 50);
    work_change(&x, T0, 0, 5); // now the other is the last
    work_expect(&x, T0, 28, 8, 24);
    work_expect(&x, S0, 12, 12, 24);
    assert_int_equal(4, stats(&x)->edges[TS_EDGE_COLLECTIVE]);
    assert_int_equal(1, stats(&x)->rendezvous);
    assert_int_equal(0, stats(&x)->rendezvous_partial);
    work_close(&x);
}

// Most of the time that the others recorded is waiting.
UNIT_TEST(a_collective_costs_what_the_shortest_took)
{
    fixture x = WORK(two_devices);
    work_change(&x, T0, 28, 6); // of 12
    work_expect(&x, T0, 28, 28, 34);
    work_expect(&x, S0, 12, 12, 34);
    work_expect(&x, S0, 42, 36, 44);
    work_change(&x, S0, 12, 1); // of 28
    work_expect(&x, T0, 28, 28, 40);
    work_expect(&x, S0, 12, 12, 40);
    work_close(&x);
}

UNIT_TEST(ranks_of_several_files_are_matched)
{
    const op a[] = {
        WORK_AT(S0, 0, 10),
        MEET(S0, 12, 40, 1),
        MEET(S0, 50, 80, 2),
        WORK_AT(S0, 81, 90),
    };
    const op b[] = {
        WORK_AT(S0, 0, 25),
        MEET(S0, 28, 40, 1),
        MEET(S0, 60, 80, 2),
        WORK_AT(S0, 81, 90),
    };
    fixture parts[] = { PART(a, 7), PART(b, 7) };
    work_join(parts, 2, NULL);
    work_change(&parts[0], OF(1, S0), 0, 45);
    work_expect(&parts[0], S0, 12, 12, 60);
    work_expect(&parts[0], S0, 50, 70, 100);
    work_expect(&parts[0], OF(1, S0), 60, 80, 100);
    work_expect(&parts[0], S0, 81, 101, 110);
    assert_int_equal(2, stats(&parts[0])->rendezvous);
    close_all(parts, 2);
}

UNIT_TEST(without_numbers_they_are_matched_in_order)
{
    const struct {
        const char *name;
        uint64_t sizes[2][3];
        uint64_t rendezvous, edges;
    } cases[] = {
        { "reduce", { { 64, 64, 64 }, { 64, 64, 64 } }, 3, 12 },
        // One rank has another collective in between, which no other rank has.
        { "reduce", { { 64, 8, 64 }, { 64, 64, 99 } }, 3, 12 },
        // They send different amounts.
        { "all_to_all", { { 1, 2, 3 }, { 4, 5, 6 } }, 3, 12 },
        // Of one size each rank began two, of another one: by size, then.
        { "reduce", { { 8, 64, 8 }, { 64, 8, 8 } }, 3, 12 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        op ops[6];
        for (uint32_t k = 0; k < 6; k++) {
            const uint32_t rank = k % 2, round = k / 2;
            const op one = MEET(rank ? T0 : S0, 10 + 20 * round + 3 * rank,
                                20 + 20 * round, 0);
            ops[k] = one;
            ops[k].name = cases[i].name;
            ops[k].size = cases[i].sizes[rank][round];
        }
        fixture x = WORK(ops);
        work_same(&x);
        assert_int_equal(cases[i].rendezvous, stats(&x)->rendezvous);
        assert_int_equal(cases[i].edges - stats(&x)->contradicted,
                         stats(&x)->edges[TS_EDGE_COLLECTIVE]);
        work_close(&x);
    }
}

UNIT_TEST(other_communicators_names_and_numbers_do_not_match)
{
    for (int what = 0; what < 4; what++) {
        op ops[] = { MEET(S0, 10, 20, 3), MEET(T0, 12, 20, 3) };
        if (what == 1) ops[1].communicator = 6;
        if (what == 2) ops[1].sequence = 4;
        if (what == 3) {
            ops[0].sequence = ops[1].sequence = 0;
            ops[1].name = "broadcast";
        }
        fixture x = WORK(ops);
        work_same(&x);
        assert_int_equal(what ? 0 : 4, stats(&x)->edges[TS_EDGE_COLLECTIVE]);
        assert_int_equal(what ? 2 : 1, stats(&x)->rendezvous);
        work_close(&x);
    }
}

// A number that comes twice: several kernels of one collective.
UNIT_TEST(a_number_that_comes_twice_is_matched_in_order)
{
    const op ops[] = {
        MEET(S0, 10, 20, 1),
        MEET(S0, 21, 30, 1),
        MEET(T0, 11, 20, 1),
        MEET(T0, 25, 30, 1),
    };
    fixture x = WORK(ops);
    work_change(&x, T0, 11, 19); // 10 more: the first lasts until 30
    work_expect(&x, S0, 10, 10, 30);
    work_expect(&x, S0, 21, 31, 40);
    work_expect(&x, T0, 25, 35, 40);
    assert_int_equal(2, stats(&x)->rendezvous);
    work_close(&x);
}

// Of a job of `size` processes.
static fixture job_part(const op *ops, size_t count, uint64_t size)
{
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, count, NULL, 0, 0);
    work_fact(&x, 901, "world_size", size);
    work_read(&x);
    return x;
}

UNIT_TEST(all_of_a_job_take_part_where_nothing_else_is_said)
{
    op ops[] = { MEET(S0, 10, 20, 1), MEET(S0, 30, 40, 2) };
    ops[1].ranks = 1; // says so itself
    fixture parts[] = { job_part(ops, 2, 2), job_part(ops, 1, 2) };
    work_join(parts, 1, NULL);
    work_same(&parts[0]);
    assert_int_equal(2, stats(&parts[0])->rendezvous);
    assert_int_equal(1, stats(&parts[0])->rendezvous_partial);
    ts_replay_close(parts[0].replay);
    work_join(parts, 2, NULL);
    work_same(&parts[0]);
    assert_int_equal(0, stats(&parts[0])->rendezvous_partial);
    close_all(parts, 2);
}

// Its collectives may be of some of them.
UNIT_TEST(a_job_with_groups_does_not_say_who_takes_part)
{
    const op ops[] = { MEET(S0, 10, 20, 1) };
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, 1, NULL, 0, 0);
    work_fact(&x, 901, "world_size", 8);
    work_fact(&x, 902, "process_groups", 3);
    work_open(&x, NULL);
    work_same(&x);
    assert_int_equal(1, stats(&x)->rendezvous_partial); // one at least
    work_close(&x);
}

/*
    A kernel's name says no communicator and no ranks. Who meets by name and
    order is a guess, unless they end together, and one alone lacks others all
    the same.
*/
UNIT_TEST(without_a_communicator_rendezvous_are_guesses)
{
    op ops[] = {
        MEET(S0, 10, 29, 0), MEET(T0, 12, 20, 0), // 9 apart, in 8
        MEET(S0, 30, 48, 0), MEET(T0, 32, 40, 0), // 8
        MEET(S0, 50, 69, 0), MEET(T0, 52, 60, 0), MEET(S0, 70, 80, 0)
    };
    for (size_t i = 0; i < 7; i++)
        ops[i].communicator = 0;
    ops[4].communicator = ops[5].communicator = 5;
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(4, stats(&x)->rendezvous);
    assert_int_equal(1, stats(&x)->rendezvous_guessed);
    assert_int_equal(1, stats(&x)->rendezvous_partial);
    work_close(&x);
}

UNIT_TEST(missing_ranks_are_counted)
{
    op ops[] = { MEET(S0, 10, 20, 1), MEET(T0, 12, 20, 1), MEET(S0, 30, 40, 2),
                 WORK_AT(S0, 40, 50) };
    for (size_t i = 0; i < 3; i++)
        ops[i].ranks = 4;
    fixture x = WORK(ops);
    assert_int_equal(2, stats(&x)->rendezvous);
    assert_int_equal(2, stats(&x)->rendezvous_partial);
    work_change(&x, S0, 30, 30); // alone, it takes what it took
    work_expect(&x, S0, 30, 30, 60);
    work_expect(&x, S0, 40, 60, 70);
    work_close(&x);
}

// A root that only sends may be done before the last arrives.
UNIT_TEST(who_ended_before_the_last_began_did_not_wait)
{
    const op ops[] = { MEET(S0, 0, 10, 1), MEET(T0, 12, 40, 1),
                       MEET(T0 + 100, 20, 40, 1) };
    fixture x = WORK(ops);
    assert_int_equal(1, stats(&x)->contradicted);
    work_change(&x, T0 + 100, 20, 10); // its duration is the measure
    work_expect(&x, S0, 0, 0, 10);
    work_expect(&x, T0, 12, 12, 30);
    work_close(&x);
}

// Collectives that would wait for each other, which a record cannot mean.
UNIT_TEST(a_wrong_match_is_no_cycle)
{
    const op ops[] = {
        MEET(S0, 10, 20, 1),
        MEET(S0, 30, 40, 2),
        MEET(T0, 10, 20, 2),
        MEET(T0, 30, 40, 1),
    };
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(0, stats(&x)->skipped[TS_SKIP_UNMET]);
    work_close(&x);
}

/* ---- Clocks ------------------------------------------------------------- */

UNIT_TEST(clocks_are_put_right_by_the_ends_of_collectives)
{
    const op a[] = { MEET(S0, 100, 200, 1), MEET(S0, 300, 400, 2),
                     MEET(S0, 500, 600, 3) };
    const op b[] = { MEET(S0, 1150, 1201, 1), MEET(S0, 1350, 1402, 2),
                     MEET(S0, 1550, 1609, 3), WORK_AT(S0, 1700, 1800) };
    const op c[] = { MEET(S0, 50, 90, 7), WORK_AT(S0, 100, 110) };
    const op d[] = { MEET(S0, 40, 2090, 7), MEET(S0, 2092, 2099, 9) };
    op with_c[4];
    memcpy(with_c, b, sizeof b);
    // File 2 meets only file 1, file 3 only file 2: one after the other.
    const op more = MEET(S0 + 1, 1810, 1890, 7);
    with_c[3] = more;
    fixture parts[] = { PART(a, 1000), PART(with_c, 1500), PART(c, 0),
                        PART(d, 0) };
    const call calls[] = { { HOST, 60, 70, 1, "cudaFree" } };
    work_close(&parts[2]);
    parts[2] = work_part(c, 2, calls, 1, 0);
    work_join(parts, 4, NULL);
    work_same(&parts[0]);
    // 500 by the time of the start, then 1500 + b + x = a: -1501, -1502, -1509.
    const int64_t offsets[] = { 0, -1002, 1890 - 1002 - 90,
                                1890 - 1002 - 2090 };
    const int64_t residuals[] = { 0, 1, 0, 0 };
    const uint64_t matched[] = { 0, 3, 1, 1 };
    for (uint32_t i = 0; i < 4; i++) {
        ts_replay_file file;
        assert_true(ts_replay_file_at(parts[0].replay, i, &file));
        assert_int_equal(offsets[i], file.offset_ns);
        assert_int_equal(residuals[i], file.residual_ns);
        assert_int_equal(matched[i], file.matched);
        assert_int_equal(i < 2, file.realtime);
    }
    work_find(&parts[0], OF(1, S0), 1150 - 1002);
    const ts_graph graph = ts_replay_graph(parts[0].replay);
    ts_node n;
    assert_true(ts_replay_node(parts[0].replay, graph.operation_count, &n));
    assert_int_equal(60 + offsets[2], n.recorded_ns); // calls move along
    close_all(parts, 4);
}

UNIT_TEST(clocks_too_far_apart_stay_as_they_are)
{
    enum { FILES = 17 };
    const uint64_t far = UINT64_C(1) << 60;
    fixture parts[FILES];
    ts_replay_file file;
    for (uint64_t i = 0; i < FILES; i++) { // each a long way after the last
        const op ops[] = { MEET(S0, 0, 1, i + 1), MEET(S0 + 1, 0, far, i + 2) };
        parts[i] = PART(ops, 0);
    }
    work_join(parts, FILES, NULL);
    assert_true(ts_replay_file_at(parts[0].replay, 1, &file));
    assert_int_equal(far - 1, file.offset_ns);
    for (size_t i = 2; i < FILES; i++) {
        assert_true(ts_replay_file_at(parts[0].replay, i, &file));
        assert_int_equal(i & 1 ? far - 1 : 0, file.offset_ns);
    }
    close_all(parts, FILES);
}

// UndefinedBehaviorSanitizer tells what is done with no gap at all.
UNIT_TEST(clocks_of_files_that_share_nothing_stay_as_they_are)
{
    const op a[] = { MEET(S0, 100, 200, 1) }, b[] = { MEET(S0, 10, 20, 2) };
    fixture parts[] = { PART(a, 0), PART(b, 0) };
    ts_replay_file file;
    work_join(parts, 2, NULL);
    assert_true(ts_replay_file_at(parts[0].replay, 1, &file));
    assert_int_equal(0, file.offset_ns);
    assert_int_equal(0, file.matched);
    close_all(parts, 2);
}

/* ---- Sends and receives ------------------------------------------------- */

static fixture rank_part(uint64_t rank, const op *ops, size_t count)
{
    fixture x;
    work_begin(&x, 0);
    work_started(&x, 0);
    work_add(&x, ops, count, NULL, 0, 0);
    work_rank(&x, rank);
    work_read(&x);
    return x;
}

#define PAIR(what, with, from, to) \
    { \
        .kind = C, .track = S0, .start = from, .end = to, .queued = UNKNOWN, \
        .name = what, .communicator = 5, .peer = with + 1, \
    }

UNIT_TEST(a_receive_ends_after_its_send_has_begun)
{
    const op zero[] = { WORK_AT(S0, 0, 10), PAIR("ncclSend", 1, 12, 20),
                        PAIR("ncclRecv", 2, 21, 60),
                        PAIR("ncclSend", 1, 61, 70) };
    const op one[] = { PAIR("ncclRecv", 0, 1, 20), PAIR("ncclRecv", 0, 30, 70),
                       WORK_AT(S0, 71, 80) };
    const op two[] = { WORK_AT(S0, 0, 50), PAIR("ncclSend", 0, 55, 60) };
    fixture parts[] = { rank_part(0, zero, 4), rank_part(1, one, 3),
                        rank_part(2, two, 2) };
    work_join(parts, 3, NULL);
    assert_int_equal(3, stats(&parts[0])->rendezvous);
    assert_int_equal(0, stats(&parts[0])->rendezvous_partial);
    work_change(&parts[0], OF(2, S0), 0, 150);
    work_expect(&parts[0], OF(2, S0), 55, 155, 160);
    work_expect(&parts[0], S0, 21, 21, 160);
    work_expect(&parts[0], S0, 61, 161, 170);
    work_expect(&parts[0], OF(1, S0), 1, 1, 20);
    work_expect(&parts[0], OF(1, S0), 30, 30, 170);
    work_expect(&parts[0], OF(1, S0), 71, 171, 180);
    assert_int_equal(12, stats(&parts[0])->edges[TS_EDGE_P2P]);
    assert_int_equal(0, stats(&parts[0])->edges[TS_EDGE_COLLECTIVE]);
    close_all(parts, 3);
}

UNIT_TEST(a_send_whose_receiver_is_missing_is_counted)
{
    const op zero[] = { PAIR("ncclSend", 1, 12, 20),
                        PAIR("ncclSend", 3, 22, 30) };
    const op one[] = { PAIR("ncclRecv", 0, 1, 20),
                       PAIR("ncclSend", 0, 21, 30) }; // no receive of it
    fixture parts[] = { rank_part(0, zero, 2), rank_part(1, one, 2) };
    work_join(parts, 2, NULL);
    work_same(&parts[0]);
    assert_int_equal(3, stats(&parts[0])->rendezvous);
    assert_int_equal(2, stats(&parts[0])->rendezvous_partial);
    assert_int_equal(4, stats(&parts[0])->edges[TS_EDGE_P2P]);
    close_all(parts, 2);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
