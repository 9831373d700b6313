/*
    fuzz_scene.c - whatever is asked of whatever trace, the answer is whole

    The first two bytes are the size of the questions, each a size (u16) and so
    many bytes; the trace stands behind them. Without one the sample of the
    tests is asked. Questions get the right head, so that few are refused.
*/
#define _GNU_SOURCE
#include "tools/studio/scene/wire.h"

#include "tests/replay/reader/sbt_sample.h"

static forge sample;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    sample_forge(&sample);
    return 0;
}

static size_t u16(const uint8_t *bytes)
{
    return (size_t)(bytes[0] | bytes[1] << 8);
}

static void ask(scene *s, const uint8_t *bytes, size_t size)
{
    static const uint8_t head[] = { 'T', 'S', 'Q', SCENE_WIRE_VERSION };
    uint8_t *const request = malloc(size + sizeof head);
    uint8_t *answer;
    size_t answer_size;
    if (!request) abort();
    memcpy(request, head, sizeof head);
    memcpy(request + sizeof head, bytes, size);
    scene_answer(s, request, size + sizeof head, &answer, &answer_size);
    const uint8_t wanted[] = { 'T', 'S', 'A', SCENE_WIRE_VERSION };
    if (!answer || answer_size < 12 || memcmp(answer, wanted, 4)) abort();
    int32_t result;
    memcpy(&result, answer + 8, sizeof result);
    if (result > 0 || (result < 0 && answer_size != 12)) abort();
    free(answer);
    free(request);
}

static void ask_all(scene *s, const uint8_t *bytes, size_t size)
{
    for (int i = 0; size >= 2 && i < 40; i++) {
        const size_t one = u16(bytes) < size - 2 ? u16(bytes) : size - 2;
        ask(s, bytes + 2, one);
        bytes += 2 + one;
        size -= 2 + one;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2 || size > 1 << 16) return 0;
    const size_t requests = u16(bytes) < size - 2 ? u16(bytes) : size - 2;
    const size_t left = size - 2 - requests;
    const ts_reader_desc desc = { .bytes = left ? bytes + 2 + requests
                                                : sample.bytes,
                                  .size = left ? left : sample.size,
                                  .threads = 1,
                                  .lazy = requests & 1,
                                  .inflate_bytes = 1 << 20 };
    ts_reader *reader;
    scene *s;
    if (ts_reader_open(&reader, &desc) != TS_OK) return 0;
    if (scene_open(&s, reader) != TS_OK) abort();
    ask_all(s, bytes + 2, requests);
    for (int i = 0; scene_is_behind(s); i++) {
        if (i > 10000) abort();
        scene_work(s);
    }
    scene_close(s);
    ts_reader_close(reader);
    return 0;
}
