/*
    flame_stacks.c - call stacks as paths of a tree
*/
#include "tools/analyze/figures/operations/flame.h"
#include "tools/common/symbolize/symbolize.h"

static uint32_t frame_name(flame_stacks *s, uint32_t file,
                           const ts_frame_entry *f, uint32_t at)
{
    const uint64_t key = cli_hash_join((uint64_t)file << 32 | f->module,
                                       cli_hash_join(f->offset, at));
    const uint32_t known = cli_map_row(&s->frames, key);
    if (known != CLI_NONE) return known;
    const uint32_t name =
        paths_name(s->paths, analyze_frame(s->job, file, f, at));
    if (name == CLI_NONE || !cli_map_set(&s->frames, key, name))
        return CLI_NONE;
    return name;
}

uint32_t flame_stack_node(flame_stacks *s, uint32_t file, uint32_t stack)
{
    enum { MOST = PATHS_DEPTH_MOST - 1 };
    const ts_reader *const reader = analyze_reader(s->job, file);
    const uint64_t key = (uint64_t)file << 32 | stack;
    const uint32_t known = cli_map_row(&s->stacks, key);
    if (known != CLI_NONE) return known;
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(reader, stack, &frames);
    uint32_t node = PATHS_ROOT, functions = 0, i = 0;
    for (; i < count; i++) {
        functions += symbolize_depth(reader, &frames[i]);
        if (functions > MOST) break;
    }
    while (i-- > 0)
        for (uint32_t k = symbolize_depth(reader, &frames[i]); k-- > 0;) {
            const uint32_t name = frame_name(s, file, &frames[i], k);
            if (name == CLI_NONE) return CLI_NONE;
            node = paths_child(s->paths, node, name);
            if (node == CLI_NONE) return CLI_NONE;
        }
    return cli_map_set(&s->stacks, key, node) ? node : CLI_NONE;
}

void flame_stacks_close(flame_stacks *s)
{
    cli_map_close(&s->stacks);
    cli_map_close(&s->frames);
}
