/*
    process_group.c - whether a signal reached the program, too

    A signal may be sent to ts-record alone, which has to forward it, or to the
    whole process group, so that the program has received it already. The signal
    itself does not show which. So an idle process, the witness, is in the
    group: a signal that it receives, too, was sent to the group. The witness
    also wakes ts-record, which stops itself while the program is stopped.
*/
#define _GNU_SOURCE // close_range
#include "tools/record/record.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 65 };
typedef struct group_page {
    uint32_t got[SIGNALS]; // how often
    int32_t stopped;       // ts-record is stopped until this process continues
} group_page;

static group_page *page; // shared with the witness
static uint32_t seen[SIGNALS];
static pid_t witness;

static bool is_stopped(pid_t process)
{
    char path[48], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    FILE *const file = fopen(path, "r");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = 0;
    const char *const name_end = strrchr(text, ')'); // then " T"
    return name_end && name_end[1] == ' ' && name_end[2] == 'T';
}

static void stand_there(pid_t recorder)
{
    const struct timespec wait = { 0, 50000000 };
    sigset_t all;
    sigfillset(&all);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != recorder) _exit(0);
    close_range(0, ~0u, 0); // else it would keep the program's pipes open
    for (;;) {
        const pid_t stopped = TS__LOAD(&page->stopped);
        const int number =
            stopped ? sigtimedwait(&all, NULL, &wait) : sigwaitinfo(&all, NULL);
        // release: pairs with the acquire in record_group_had
        if (number > 0 && number < SIGNALS)
            __atomic_add_fetch(&page->got[number], 1, __ATOMIC_RELEASE);
        if (!stopped || is_stopped(stopped)) continue;
        TS__STORE(&page->stopped, 0);
        kill(recorder, SIGCONT);
    }
}

// The witness blocks all signals. Without one every signal is forwarded.
pid_t record_group_watch(void)
{
    const pid_t recorder = getpid();
    void *const map = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return -1;
    page = map;
    witness = fork();
    if (witness == 0) stand_there(recorder);
    return witness;
}

void record_group_end(void)
{
    if (witness <= 0) return;
    kill(witness, SIGKILL);
    kill(witness, SIGCONT); // the whole group may be stopped
    waitpid(witness, NULL, 0);
}

bool record_group_had(int number)
{
    const struct timespec wait = { 0, 1000000 };
    if (witness <= 0 || number >= SIGNALS) return false;
    for (int i = 0; i < 20; i++) { // the witness may get it a moment later
        const uint32_t got =
            __atomic_load_n(&page->got[number], __ATOMIC_ACQUIRE);
        const bool had = got != seen[number];
        seen[number] = got;
        if (had) return true;
        nanosleep(&wait, NULL);
    }
    return false;
}

void record_group_stop(pid_t process)
{
    if (witness <= 0) return; // nothing would wake us
    TS__STORE(&page->stopped, (int32_t)process);
    kill(witness, SIGURG); // makes it check `stopped`
    raise(SIGSTOP);
    TS__STORE(&page->stopped, 0);
    kill(process, SIGCONT);
}
