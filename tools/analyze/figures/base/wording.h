/*
    wording.h - texts that several topics share
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/host_activity.h"

// Returns the text of a group: "copy host to device", "memset", the name of a
// kernel or zone; "(no zone)" or "(no call)" if there is none.
ts_text topic_group(analyze_job *job, const names_index *names, uint32_t group);
// Shortens a name for use in sentences: at most 60 characters, without template
// and function arguments.
ts_text topic_brief(analyze_job *job, ts_text name);

// Returns where the host was: "host in zone: call"; "host mostly in zone (2
// ms)" if no zone was open for half of the time; "host in no zone before
// cudaMalloc" if `next` is the node of that call.
ts_text topic_hold(analyze_job *job, const ts_replay *replay,
                   const names_index *names, const hold *held, uint32_t next);
// Returns "host in zone" or "host in no zone".
ts_text topic_in_zone(analyze_job *job, const names_index *names,
                      uint32_t zone);

// Returns the text of a node: "kernel k", "call cudaLaunchKernel on thread 1",
// with its place if `where`. TS_NODE_NONE gives "".
ts_text topic_node(analyze_job *job, const ts_replay *replay, uint32_t node,
                   bool where);
// Returns the name of a thread, or "" if it is unknown.
ts_text topic_thread(analyze_job *job, uint32_t file, uint32_t thread);

// Returns a column of all operations of a replay, by operation number. The
// caller frees it. NULL with *ok true: all values are 0; *ok false: memory ran
// out.
uint64_t *topic_column(analyze_job *job, const ts_replay *replay,
                       ts_column column, bool *ok);
// Returns the place of an operation as evidence.
report_evidence topic_evidence(const ts_replay *replay, uint32_t operation);

// Begins a section that needs the graph of the operations. Returns NULL if
// there is no graph; the section then says so. *replay and *timeline (may be
// NULL) receive what analyze_replay and analyze_timeline return.
report_section *topic_begin(analyze_job *job, report *r, const char *name,
                            const char *title, ts_replay **replay,
                            ts_timeline **timeline);

// Lowers the confidence if threads may have waited for each other without a
// record of it.
void topic_trust_threads(report_section *s, const ts_replay_stats *stats);

// Lowers the confidence to `most` if it is uncertain which collectives belong
// together.
void topic_trust_guessed(report_section *s, const ts_replay_stats *stats,
                         report_confidence most);
// Lowers the confidence if ranks have no trace and collectives are much of the
// critical path.
void topic_trust_ranks(report_section *s, const ts_replay *replay,
                       int64_t communication_ns);

// Lowers the confidence by the share of idle time that the graph does not
// explain, and if a part of the trace waits for what the part lacks.
void topic_trust_graph(report_section *s, analyze_job *job,
                       const ts_replay *replay, const ts_timeline *timeline);

#define TOPIC_COUNT(array) (sizeof(array) / sizeof *(array))
// Arguments for "%.*s".
#define TOPIC_TEXT(name) (int)(name).size, (name).text

// Begins a chart of device time by cause. Each cause of idle time has the same
// name and colour in all charts.
report_chart *topic_time_chart(report_section *s, const char *key,
                               const char *title);
// Adds a bar with the device's time in nanoseconds to a stacked chart: kernels,
// collectives alone, copies alone, then each idle cause in the order of
// ts_idle. The parts sum to busy_ns + idle_ns.
void topic_time_bar(analyze_job *job, report_chart *c,
                    const ts_timeline_figures *f);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H
