/*
    window.h - the recorded time window, and which work it cuts off

    A record may begin and end in the middle of a program. Work that runs in it
    may have been launched before it, and calls made in it may launch work that
    runs after it. Neither explains why a device was idle.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_WINDOW_H
#define TS_TOOLS_ANALYZE_JOB_WINDOW_H

#include "tools/analyze/job/job.h"

typedef struct cut_figures {
    int64_t from_ns, to_ns; // the record: from its first event to its last end
    bool works;             // a device executed work
    int64_t work_from_ns, work_to_ns;
    uint64_t operations; // examined operations: see cut_open
    uint64_t queued;     // of these, launched before the record
    int64_t queued_ns;   // their summed run time
    uint64_t launches;   // calls that launched work
    uint64_t outside;    // calls whose work runs after the record
    uint64_t running;    // operations that end after the last host event
    int64_t running_ns;  // the longest time by which one does
} cut_figures;

/*
    An operation is *queued* before the record if neither its own call nor that
    of an earlier operation on its stream is in the record. (If no operation of
    a stream has its call in the record, their correlation ids must also be
    below those of all calls.) A call lies *outside* if it was made after the
    last call of its function that launched work in the record, and nine tenths
    of the earlier calls of that function launched work. Of more than 200,000
    operations only about 50,000 at each end are examined. Returns false if
    memory runs out.
*/
bool cut_open(cut_figures *cut, analyze_job *job);
// Computes the figures once and returns them; NULL if memory runs out. They are
// valid until the job ends.
const cut_figures *analyze_cut(analyze_job *job);

// Whether the cut is significant: it affects more than a hundredth of the work
// or of the calls.
bool cut_weighs(const cut_figures *cut);

#endif // TS_TOOLS_ANALYZE_JOB_WINDOW_H
