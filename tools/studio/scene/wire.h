/*
    wire.h - questions to a scene, and its answers, as bytes

    A question is a head and what its type needs; so is an answer. Numbers are
    little-endian and without padding, a text is its size (u32) and its bytes.
    The page sends the same questions to the WebAssembly module and to the
    server, and both answer with the same bytes.

        question: "TSQ" version (u8), type (u32)
        answer:   "TSA" version (u8), type (u32), result (i32), then,
                  if the result is 0, what the type says

    docs/studio.md lists the types and their fields.
*/
#ifndef TS_TOOLS_STUDIO_SCENE_WIRE_H
#define TS_TOOLS_STUDIO_SCENE_WIRE_H

#include "tools/studio/scene/scene.h"

enum { SCENE_WIRE_VERSION = 2 };

typedef enum scene_question {
    SCENE_ASK_INFO = 1,
    SCENE_ASK_ROWS = 2,
    SCENE_ASK_VIEW = 3,
    SCENE_ASK_PICK = 4,
    SCENE_ASK_EVENT = 5,
    SCENE_ASK_SEARCH = 6,
    SCENE_ASK_NEXT = 7,
    SCENE_ASK_AREA = 8,
    SCENE_ASK_IDLE = 9,
    SCENE_ASK_WHY = 10,
    SCENE_ASK_PATH = 11,
    SCENE_ASK_WHATIF = 12,
    SCENE_ASK_LABELS = 13,
    SCENE_ASK_REFRESH = 14,
    SCENE_ASK_FLOWS = 15,
    SCENE_ASK_FLAME = 16,
    SCENE_ASK_HISTOGRAM = 17,
    SCENE_ASK_OPERATIONS = 18,
    SCENE_ASK_COUNTERS = 19,
    SCENE_ASK_NAMES = 20,
    SCENE_ASK_WORK = 40
} scene_question;

// Limits of a question; a larger one is TS_ERR_USAGE.
enum {
    SCENE_MOST_ROWS = 1024,    // in a view; else SCENE_ROWS
    SCENE_MOST_TEXT = 4096,    // bytes of a search
    SCENE_MOST_CHANGES = 32,   // of a what-if
    SCENE_MOST_LABELS = 65536, // in an answer
    SCENE_MOST_HITS = 1000,
    SCENE_MOST_NODES = 4000, // of a flame graph, in an answer
    SCENE_MOST_NAME = 65536  // bytes of a name that was read
};

/*
    Answers a question. *answer is allocated, and always a whole answer; NULL
    without memory. Any bytes may be asked.

    Free: free(*answer).
*/
void scene_answer(scene *s, const uint8_t *request, size_t size,
                  uint8_t **answer, size_t *answer_size);

#endif // TS_TOOLS_STUDIO_SCENE_WIRE_H
