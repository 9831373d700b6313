/*
    frames.c - the functions of stacks
*/
#include "tools/export/profile/profile.h"

static void
take_frame(const ts_reader *reader, const ts_frame_entry *frame, bool outer,
           void (*take)(void *user, const ts_frame_entry *frame, uint32_t at),
           void *user)
{
    const uint32_t depth = symbolize_depth(reader, frame);
    for (uint32_t i = 0; i < depth; i++)
        take(user, frame, outer ? depth - 1 - i : i);
}

void profile_frames(const ts_reader *reader, uint32_t stack, bool outer,
                    void (*take)(void *user, const ts_frame_entry *frame,
                                 uint32_t at),
                    void *user)
{
    const ts_frame_entry *frames;
    const uint32_t count = stack ? ts_reader_stack(reader, stack, &frames) : 0;
    for (uint32_t i = 0; i < count; i++)
        take_frame(reader, &frames[outer ? count - 1 - i : i], outer, take,
                   user);
}
