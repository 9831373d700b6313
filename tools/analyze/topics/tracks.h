/*
    tracks.h - private to the summary: a chart with a lane for each busy track
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_TRACKS_H
#define TS_TOOLS_ANALYZE_TOPICS_TRACKS_H

#include "tools/analyze/job/job.h"

// Adds a chart of the streams and threads that were busy longest: at most
// TRACKS_MOST lanes of TRACKS_SLOTS slots each. Returns false if memory runs
// out.
enum { TRACKS_MOST = 24, TRACKS_SLOTS = 160 };
// Adds the table and the chart of busy time per track. False without memory.
bool topic_tracks(analyze_job *job, report_section *s);

#endif // TS_TOOLS_ANALYZE_TOPICS_TRACKS_H
