/*
    run.c - runs each vendor's query in a process of its own
*/
#define _DEFAULT_SOURCE // kill
#include "tools/devices/devices.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs a query in the child. Output of drivers is discarded, and the variables
// that load recorders are removed.
static void run_question(const devices_vendor *vendor, const char *root,
                         int pipe)
{
    static const char *const variables[] = { "CUDA_INJECTION64_PATH",
                                             "NVTX_INJECTION64_PATH",
                                             "OPENCL_LAYERS",
                                             "ROCP_TOOL_LIBRARIES",
                                             "HSA_TOOLS_LIB",
                                             "VK_INSTANCE_LAYERS",
                                             "LD_PRELOAD" };
    devices_query query = { .out = fdopen(pipe, "w"), .root = root };
    const int nowhere = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(nowhere, i);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    if (query.out) vendor->query(&query);
    if (query.out) fflush(query.out);
    _exit(0); // skips exit handlers of libraries
}

static bool start(devices_answer *answer, const char *root)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    answer->process = fork();
    if (answer->process == 0) {
        close(ends[0]);
        run_question(answer->vendor, root, ends[1]);
    }
    close(ends[1]);
    answer->pipe = ends[0];
    return answer->process > 0;
}

enum { TEXT_MOST = 1 << 20 };

// Reads output of a query. False at its end.
static bool take(devices_answer *answer)
{
    if (answer->room - answer->size < 4096) {
        char *const more = realloc(answer->text, answer->room + 65536);
        if (!more || answer->room > TEXT_MOST) return false;
        answer->text = more;
        answer->room += 65536;
    }
    const ssize_t got = read(answer->pipe, answer->text + answer->size,
                             answer->room - answer->size - 1);
    if (got <= 0) return got < 0 && errno == EINTR;
    answer->size += (size_t)got;
    return true;
}

static void listen_to(devices_answer *answers, uint64_t end_ns)
{
    struct pollfd *const polls = calloc(devices_vendor_count, sizeof *polls);
    if (!polls) return;
    for (size_t i = 0; i < devices_vendor_count; i++)
        polls[i] = (struct pollfd){ answers[i].pipe, POLLIN, 0 };
    for (size_t open = devices_vendor_count; open;) {
        const uint64_t now = cli_now_ns();
        const int wait_ms =
            now < end_ns ? (int)((end_ns - now) / 1000000) + 1 : 0;
        const int ready = poll(polls, devices_vendor_count, wait_ms);
        if (ready == 0) break;
        for (size_t i = 0; ready > 0 && i < devices_vendor_count; i++)
            if (polls[i].fd >= 0 && polls[i].revents && !take(&answers[i])) {
                polls[i].fd = -1;
                open--;
            }
    }
    for (size_t i = 0; i < devices_vendor_count; i++)
        answers[i].hung = polls[i].fd >= 0;
    free(polls);
}

// Ends a query. A process that sleeps within a driver cannot be killed, and is
// left behind.
static void finish(devices_answer *answer)
{
    int status = 0;
    close(answer->pipe);
    if (answer->hung) {
        kill(answer->process, SIGKILL);
        waitpid(answer->process, &status, WNOHANG);
        return;
    }
    // It has closed the pipe, so it ends now.
    if (waitpid(answer->process, &status, 0) > 0 && WIFSIGNALED(status))
        answer->signal = WTERMSIG(status);
}

static bool split(devices_answer *answer)
{
    char *line = answer->text;
    if (!line) return true;
    answer->text[answer->size] = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char *const first = strchr(line, '\t');
        char *const second =
            first && first < end ? strchr(first + 1, '\t') : NULL;
        if (!second || second > end) continue;
        devices_item *const more =
            realloc(answer->items, (answer->count + 1) * sizeof *more);
        if (!more) return false;
        *end = *second = 0;
        answer->items = more;
        answer->items[answer->count++] =
            (devices_item){ (devices_kind)*line, first + 1, second + 1 };
    }
    return true;
}

bool devices_query_all(const cli_tool *tool, const char *root, int64_t limit_ns,
                       devices_answer *answers)
{
    bool done = true;
    for (size_t i = 0; i < devices_vendor_count; i++) {
        answers[i] =
            (devices_answer){ .vendor = &devices_vendors[i], .pipe = -1 };
        done = start(&answers[i], root) && done;
    }
    if (done) listen_to(answers, cli_now_ns() + (uint64_t)limit_ns);
    for (size_t i = 0; i < devices_vendor_count; i++) {
        if (answers[i].process > 0) finish(&answers[i]);
        done = split(&answers[i]) && done;
    }
    if (!done) cli_error(tool, NULL, "%s", strerror(errno));
    return done;
}

void devices_close(devices_answer *answers)
{
    for (size_t i = 0; i < devices_vendor_count; i++) {
        free(answers[i].items);
        free(answers[i].text);
    }
}
