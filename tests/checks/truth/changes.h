/*
    changes.h - the changes of which tools say what comes of them
*/
#ifndef TS_TRUTH_CHANGES_H
#define TS_TRUTH_CHANGES_H

#include "tests/checks/truth/machine.h"

enum { ALPHA = 1, BETA = 2, GAMMA = 4, DELTA = 8 }; // kernels, as bits

static const change as_it_is = { "", .copies = 0 };

// Of ts-replay --what-if.
static const change what_ifs[] = {
    { "host 0.5", .work_more = { -0.5, -0.5, -0.5, -0.5 }, .call_more = -0.5 },
    { "host 1.5", .work_more = { 0.5, 0.5, 0.5, 0.5 }, .call_more = 0.5 },
    { "scale ^alpha$=0.5", .kernel_more = { -0.5 } },
    { "scale kernel~.=0.5", .kernel_more = { -0.5, -0.5, -0.5, -0.5 } },
    { "scale ^delta$=2", .kernel_more = { [3] = 1 } },
    { "remove ^gamma$", .removed = GAMMA },
    { "insert extra=20us after ^beta$", .inserted = BETA,
      .inserted_ns = 20000 },
    { "fuse ^(alpha|beta)$", .fused = ALPHA | BETA },
    { "copy h2d=0.5", .copies = H2D, .copy_more = -0.5 },
    { "copy h2d,d2h bw=2x", .copies = H2D | D2H, .copy_rate_more = 1 },
    { "copy all bw=0.5x,lat=5us", .copies = H2D | D2H, .copy_rate_more = -0.5,
      .copy_ns = 5000 },
    { "copy d2h lat=10us", .copies = D2H, .copy_ns = 10000 },
    { "network 0.5", .network_more = -0.5 },
    { "network 2", .network_more = 1 },
    { "network bw=2x", .network_rate_more = 1 },
    { "network lat=30us", .network_ns = 30000 },
    { "copy-engines 1", .engines = 1 },
    { "streams ^alpha$=7", .moved = ALPHA },
    { "serialise", .serial = true },
    { "no-launch-overhead", .launch_more = -1 },
    { "straggler rank=0:1.5", .rank_more = { 0.5 } },
    { "straggler rank=1:0.7", .rank_more = { [1] = -0.3 } },
    { "ideal-overlap", .hidden = HIDE_COPIES | HIDE_MEETS },
};

// A category of the critical path takes no time.
static const change frees[] = {
    { "host", .work_more = { -1, -1, -1, -1 }, .call_more = -1 },
    { "launch", .launch_more = -1 },
    { "compute", .kernel_more = { -1, -1, -1, -1 } },
    { "copy", .copies = H2D | D2H, .copy_more = -1 },
    { "communication", .network_more = -1 },
    { "sync", .no_syncs = true },
};

// What advice says would be gained, by rule and what its title names.
static const change advised[] = {
    { "host-bound", .work_more = { -0.2, -0.2, -0.2, -0.2 },
      .call_more = -0.2 },
    { "host-zone load", .work_more = { -1 } },
    { "host-zone resize", .work_more = { [1] = -1 } },
    { "host-zone tokenize", .work_more = { [2] = -1 } },
    { "host-zone augment", .work_more = { [3] = -1 } },
    { "hot-kernel alpha", .kernel_more = { -0.2 } },
    { "hot-kernel beta", .kernel_more = { [1] = -0.2 } },
    { "hot-kernel gamma", .kernel_more = { [2] = -0.2 } },
    { "hot-kernel delta", .kernel_more = { [3] = -0.2 } },
    { "launch-overhead", .launch_more = -1 },
    { "exposed-copy", .hidden = HIDE_COPIES },
    { "exposed-communication", .hidden = HIDE_MEETS },
    { "copy-bound", .no_copies = true },
    { "sync-bound", .no_syncs = true },
};
#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

#endif // TS_TRUTH_CHANGES_H
