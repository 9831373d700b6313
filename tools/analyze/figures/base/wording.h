/*
    wording.h - words that the questions about time share
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/host_activity.h"

// A group as people read it: "copy host to device", "memset", a kernel's or
// zone's name; "(no zone)" and "(no call)" where there is none.
ts_text topic_group(analyze_job *job, const names_index *names, uint32_t group);
// Of a long name what is before template and arguments, at most 60
// characters: for sentences.
ts_text topic_brief(analyze_job *job, ts_text name);

// Where the host was: "host in zone: call"; "host mostly in zone (2 ms)" if it
// was in no zone for half of the time; "host in no zone before cudaMalloc", if
// that is the node `next`.
ts_text topic_hold(analyze_job *job, const ts_replay *replay,
                   const names_index *names, const hold *held, uint32_t next);
// "host in zone", "host in no zone".
ts_text topic_in_zone(analyze_job *job, const names_index *names,
                      uint32_t zone);

// What a node is: "kernel k", "call cudaLaunchKernel on thread 1"; and
// where. TS_NODE_NONE gives "".
ts_text topic_node(analyze_job *job, const ts_replay *replay, uint32_t node,
                   bool where);
// A thread, or "" if it is not known.
ts_text topic_thread(analyze_job *job, uint32_t file, uint32_t thread);

// A column of every operation of a replay, by its number; free() it. *ok:
// false without memory. NULL: all are 0.
uint64_t *topic_column(analyze_job *job, const ts_replay *replay,
                       ts_column column, bool *ok);
// Where an operation is.
report_evidence topic_evidence(const ts_replay *replay, uint32_t operation);

// Begins a section that needs the graph of the operations. NULL: there is
// none, and the section says so. *replay, *timeline (may be NULL): as
// analyze_replay and analyze_timeline give them.
report_section *topic_begin(analyze_job *job, report *r, const char *name,
                            const char *title, ts_replay **replay,
                            ts_timeline **timeline);

// Waits between threads that no record tells of lower the trust.
void topic_trust_threads(report_section *s, const ts_replay_stats *stats);

// So do ranks without a trace, where collectives are much of the path.
void topic_trust_ranks(report_section *s, const ts_replay *replay,
                       int64_t communication_ns);

// So does how much of the idle time the graph explains.
void topic_trust_graph(report_section *s, const ts_replay *replay,
                       const ts_timeline *timeline);

#define TOPIC_COUNT(array) (sizeof(array) / sizeof *(array))
// For "%.*s".
#define TOPIC_TEXT(name) (int)(name).size, (name).text

// A chart of what the time of devices went to, with one name and colour for
// each cause of idle time wherever it is drawn.
report_chart *topic_time_chart(report_section *s, const char *key,
                               const char *title);
void topic_time_bar(analyze_job *job, report_chart *c,
                    const ts_timeline_figures *f);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_WORDING_H
