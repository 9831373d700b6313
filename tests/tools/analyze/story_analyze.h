/*
    story_analyze.h - a hand-made program as ts-analyze opens it
*/
#ifndef STORY_ANALYZE_H
#define STORY_ANALYZE_H

#include "tests/tools/analyze/story_forge.h"
#include "tests/tools/analyze/report_expected.h"
#include "tools/analyze/job/job.h"

static const cli_tool story_tool = { .name = "test" };

// Writes the story and opens it; analyze_close and story_end when done.
static inline void story_open(story *s, analyze_job *job, bool collapse)
{
    char *path = s->path;
    story_write(s);
    *job = (analyze_job){ .tool = &story_tool,
                          .options = {
                              .top = 10, .rows = 100, .collapse = collapse } };
    assert_true(analyze_open(job, &path, 1));
}

#endif // STORY_ANALYZE_H
