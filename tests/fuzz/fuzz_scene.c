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
    (void)argc;
    (void)argv;
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
    uint8_t *const question = malloc(size + sizeof head);
    uint8_t *answer;
    size_t answer_size;
    if (!question) abort();
    memcpy(question, head, sizeof head);
    memcpy(question + sizeof head, bytes, size);
    scene_answer(s, question, size + sizeof head, &answer, &answer_size);
    if (!answer || answer_size < 12 || memcmp(answer, "TSA\1", 4)) abort();
    int32_t result;
    memcpy(&result, answer + 8, sizeof result);
    if (result > 0 || (result < 0 && answer_size != 12)) abort();
    free(answer);
    free(question);
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
    const size_t questions = u16(bytes) < size - 2 ? u16(bytes) : size - 2;
    const size_t left = size - 2 - questions;
    const ts_reader_desc desc = { .bytes = left ? bytes + 2 + questions
                                                : sample.bytes,
                                  .size = left ? left : sample.size,
                                  .threads = 1,
                                  .inflate_bytes = 1 << 20 };
    ts_reader *reader;
    scene *s;
    if (ts_reader_open(&reader, &desc) != TS_OK) return 0;
    if (scene_open(&s, reader) != TS_OK) abort();
    ask_all(s, bytes + 2, questions);
    scene_close(s);
    ts_reader_close(reader);
    return 0;
}
