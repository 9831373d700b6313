/*
    models.h - what was computed of the traces, and is kept between requests
*/
#ifndef TS_TOOLS_MCP_MODELS_H
#define TS_TOOLS_MCP_MODELS_H

#include "tools/mcp/json.h"
#include "tools/tracesmith_tools.h"
#include <sys/stat.h>

enum { MCP_FILES_MOST = 64, MCP_SETS_KEPT = 4 };

typedef struct mcp_file {
    const char *path;
    ts_reader *reader;
    struct stat seen; // of the file that was opened
    bool verified;    // all damage is known
} mcp_file;

// Some of the traces, which are one job, and what is known of them. What is
// NULL was not asked for yet.
typedef struct mcp_set {
    uint32_t files[MCP_FILES_MOST]; // indexes into mcp_models.files
    const char *paths[MCP_FILES_MOST];
    uint32_t count;
    uint64_t used; // when, to forget the one that was not used for longest
    ts_analysis *brief, *full; // brief: for what the traces lack
    ts_replay *replay;         // as recorded, of `timeline`
    ts_timeline *timeline;
    ts_replay *model; // for what-ifs
    ts_sql *sql;
} mcp_set;

typedef struct mcp_models {
    const cli_tool *tool;
    mcp_file *files;
    uint32_t file_count;
    mcp_set sets[MCP_SETS_KEPT];
    uint64_t clock; // counts uses
    // The last comparison: its report, and which traces it is of.
    mcp_json diff;
    char *diff_text, *diff_key;
} mcp_models;

// Opens the traces. False, with the reason on stderr.
bool mcp_models_open(mcp_models *models, const cli_tool *tool,
                     const char *const *paths, size_t count);
void mcp_models_close(mcp_models *models);

// Opens anew what has changed since, and forgets all models if anything has.
// False, with *why, if a trace cannot be read any more.
bool mcp_models_refresh(mcp_models *models, ts_error *why);

// The set of some traces, by their indexes; it is valid until a refresh, and
// for MCP_SETS_KEPT - 1 more calls.
mcp_set *mcp_models_set(mcp_models *models, const uint32_t *files,
                        uint32_t count);

// Each of these makes what the set lacks. False, with *why, on failure.
bool mcp_need_brief(mcp_set *set, ts_error *why);
bool mcp_need_full(mcp_set *set, ts_error *why);
bool mcp_need_timeline(mcp_models *models, mcp_set *set, ts_error *why);
bool mcp_need_model(mcp_models *models, mcp_set *set, ts_error *why);
bool mcp_need_sql(mcp_set *set, ts_error *why);
// The report of ts-diff on two sets, as JSON; NULL, with *why, on failure.
const mcp_value *mcp_need_diff(mcp_models *models, const mcp_set *before,
                               const mcp_set *after, ts_error *why);

// A growing text, as an output of the library.
typedef struct mcp_text {
    char *text;
    size_t size, room, most; // most: more than this is refused; 0: nothing is
} mcp_text;
bool mcp_text_add(void *text, const void *bytes, size_t size);

#endif // TS_TOOLS_MCP_MODELS_H
