/*
    process.c - the reader process, which reads one module

    It is limited to a minute of processor time and 4 GiB of memory. What it
    printed before it died is used.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/symbolize.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60, TEXT_MOST = 1 << 28 };
static const rlim_t memory_most = (rlim_t)4 << 30;

static void limit(void)
{
    const struct rlimit seconds = { SECONDS, SECONDS };
    const struct rlimit bytes = { memory_most, memory_most };
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    setrlimit(RLIMIT_DATA, &bytes);
#else
    (void)bytes;
#endif
}

static void take(int line, symbolize_answer *answer)
{
    size_t room = 0;
    for (;;) {
        if (answer->size + 1 >= room) {
            room = room ? 2 * room : 65536;
            char *const more =
                room > TEXT_MOST ? NULL : realloc(answer->text, room);
            if (!more) break; // use what was read
            answer->text = more;
        }
        const ssize_t got =
            read(line, answer->text + answer->size, room - answer->size - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        answer->size += (size_t)got;
    }
    if (answer->text) answer->text[answer->size] = 0;
}

symbolize_answer symbolize_lookup(const symbolize_request *q)
{
    int lines[2];
    symbolize_answer answer = { NULL, 0, false };
    fflush(NULL);
    if (pipe(lines) != 0) return answer;
    const pid_t reader = fork();
    if (!reader) {
        close(lines[0]);
        limit();
        // Hides what libraries print on stderr.
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        signal(SIGPIPE, SIG_DFL);
        FILE *const out = fdopen(lines[1], "w");
        if (out) symbolize_read(q, out);
        _exit(out && fclose(out) == 0 ? 0 : 1);
    }
    close(lines[1]);
    int status = 1;
    if (reader > 0) {
        take(lines[0], &answer);
        close(lines[0]);
        while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {}
    } else {
        close(lines[0]);
    }
    answer.complete = status == 0 && answer.text;
    return answer;
}
