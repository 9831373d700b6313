/*
    survey.h - counting what an area holds, whether or not it is loaded

    A survey decodes the chunks that reach into an area, once each, in slices.
    Chunks are taken by track and in order of time, so that only boxes which
    later chunks may still precede are held. Each box gets the lane that it has
    on the screen, and is handed to the kind of survey.

    Operations of a stream may overlap. So chunks that end before the area are
    decoded too, if they reach beyond the start of an operation that reaches
    into it. What overlaps in a longer chain, and zones of a thread that overlap
    without lying in each other, may get a lane above their own.
*/
#ifndef TS_TOOLS_STUDIO_SCENE_SURVEY_H
#define TS_TOOLS_STUDIO_SCENE_SURVEY_H

#include "tools/studio/scene/parts.h"

typedef struct survey survey;

// The last box of a lane.
typedef struct survey_lane {
    int64_t from_ns, to_ns; // within the area
    uint32_t label;
    uint32_t node; // of a flame graph; CLI_NONE: in none
    uint32_t row;  // that the lane counts for; CLI_NONE: it was not asked for
} survey_lane;

typedef struct survey_track {
    scene_row_type type;
    uint32_t track;
    uint32_t part; // of the row of lane 0
    bool asked;    // for one of its rows
    bool noted;    // in a flame graph
    uint32_t node; // there, then; CLI_NONE: in none
    survey_lane *lanes;
    int64_t *ends; // of lanes
    uint32_t count;
    size_t lane_room, end_room;
} survey_track;

// What is counted. All return false without memory.
typedef struct survey_kind {
    bool (*open)(survey *q);
    // Whether a row is counted at all; NULL: any is.
    bool (*wants)(const survey *q, const scene_row *row);
    // Takes a box that reaches into the area, of the last of lane `lane`.
    bool (*take)(survey *q, survey_track *t, uint32_t lane,
                 const scene_item *item);
    void (*close)(survey *q);
} survey_kind;

extern const survey_kind survey_sums, survey_flame, survey_histogram;

// The order of the chunks of a group. Those of a turn are in order of time.
typedef enum survey_turn {
    SURVEY_ENTERS, // with operations that begin before the area
    SURVEY_BEFORE, // ends before it
    SURVEY_FOLLOWS // any other
} survey_turn;

typedef struct survey_chunk {
    uint64_t group; // chunks that have boxes of one row in common
    survey_turn turn;
    int64_t first_ns;
    uint32_t chunk; // place in scene.chunks
} survey_chunk;

struct survey {
    scene *s;
    const survey_kind *kind;
    int64_t from_ns, to_ns;
    uint32_t what; // of a flame graph: by what; of a histogram: the label
    uint32_t *rows;
    size_t row_count;
    bool *asked; // by row, of those that there were
    size_t known_rows;
    bool any[SCENE_ROW_LIMIT]; // by type: a row was asked for
    cli_map tracks_asked;      // type and track
    bool begun, failed;
    survey_chunk *todo;
    size_t todo_count, next, chunk_count; // of the scene when it was listed
    int64_t reach_ns; // first start of an operation that enters the area
    uint64_t events, counted;
    scene_gathering gathering; // boxes that have no lane yet
    size_t pending, flush_at;  // how many, and when they are given lanes
    survey_track *tracks;      // of the buckets of the gathering
    size_t track_count, track_room;
    ts_columns columns;
    void *result; // of its kind
};

// What kind of question it is: each has surveys of its own.
typedef enum survey_slot {
    SURVEY_SUMS,
    SURVEY_FLAME,
    SURVEY_HISTOGRAM,
    SURVEY_EXPLANATION
} survey_slot;

typedef struct survey_question {
    survey_slot slot;
    const survey_kind *kind;
    uint32_t what;
    const uint32_t *rows;
    size_t row_count;
    int64_t from_ns, to_ns;
} survey_question;

// Goes on with the survey of a question, or begins it in place of the one that
// was not asked for longest. Returns NULL without memory. Lifetime: until the
// next question of its slot.
survey *scene_survey(scene *s, const survey_question *question,
                     scene_share *share);

// The part of a box in the area.
static inline int64_t survey_ns(const survey_lane *lane)
{
    return lane->to_ns - lane->from_ns;
}

// How long two boxes overlap in the area.
static inline int64_t survey_overlap(const survey_lane *a, const survey_lane *b)
{
    const int64_t from = a->from_ns > b->from_ns ? a->from_ns : b->from_ns;
    const int64_t to = a->to_ns < b->to_ns ? a->to_ns : b->to_ns;
    return to > from ? to - from : 0;
}

#endif // TS_TOOLS_STUDIO_SCENE_SURVEY_H
