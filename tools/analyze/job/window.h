/*
    window.h - the window of a record, and what it cuts off

    A record may begin and end in the middle of a program. Work that runs in it
    may have been launched before it, and calls made in it may launch what runs
    after it: neither tells why a device was idle.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_WINDOW_H
#define TS_TOOLS_ANALYZE_JOB_WINDOW_H

#include "tools/analyze/job/job.h"

typedef struct cut_figures {
    int64_t from_ns, to_ns; // the record: its first event to its last end
    bool works;             // a device did something:
    int64_t work_from_ns, work_to_ns;
    uint64_t operations; // work that was looked at: see cut_open
    uint64_t queued;     // of these: launched before the record
    int64_t queued_ns;   // time they ran, summed up
    uint64_t launches;   // calls that launched work
    uint64_t outside;    // calls whose work comes after the record
    uint64_t running;    // operations that end after the last event
    int64_t running_ns;  // of the host, and by how long
} cut_figures;

/*
    Work is *queued* before the record if neither it nor anything earlier on
    its stream has its call in the record. (Where nothing on a stream has, the
    correlations must be below those of all calls, too.) A call lies
    *outside* if it was made after the last one of its function that launched
    work in the record, and nine tenths of those before it did.
    Of more than 200,000 operations only the first and last are looked at,
    about 50,000 each. False without memory.
*/
bool cut_open(cut_figures *cut, analyze_job *job);
// The same, looked at once. NULL without memory. Lifetime: until the job ends.
const cut_figures *analyze_cut(analyze_job *job);

// Whether the cut weighs: more than a hundredth of what is there.
bool cut_weighs(const cut_figures *cut);

#endif // TS_TOOLS_ANALYZE_JOB_WINDOW_H
