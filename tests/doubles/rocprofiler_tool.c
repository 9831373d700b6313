// Another tool of rocprofiler-sdk, which says in the file TOOL_SAYS when it is
// asked and when it begins.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct client_id {
    size_t size;
    const char *name;
    uint32_t handle;
} client_id;

static void print(const char *what, unsigned number)
{
    FILE *const file = fopen(getenv("TOOL_SAYS"), "a");
    if (!file) abort();
    fprintf(file, "%s %u\n", what, number);
    fclose(file);
}

static int initialize(void (*finalize)(client_id), void *data)
{
    print("begins", 0);
    return 0;
}

void *rocprofiler_configure(uint32_t version, const char *text,
                            uint32_t priority, client_id *id);
__attribute__((visibility("default"))) void *
rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                      client_id *id)
{
    static struct {
        size_t size;
        int (*initialize)(void (*)(client_id), void *);
        void (*finalize)(void *);
        void *data;
    } result = { sizeof result, initialize, NULL, NULL };
    id->name = "another";
    print("asked", priority);
    return version ? &result : NULL;
}
