/*
    flow.c - the queue of rows between parser and importer
*/
#include "tools/import/kineto/flow.h"
#include <pthread.h>
#include <signal.h>

/*
    A batch is full when a further row might not fit. Its usual size fits a CPU
    cache, but it has room for one row of the maximum size; pages that no row
    needs are never touched.
*/
enum {
    BATCHES = 4,
    ROWS = 256,
    ARGS = 16 * ROWS,
    TEXT = 64 << 10,
    NOTES = 2 * ROWS,
    CAUSES = 16 // more than the parser's kinds of notes between two rows
};

typedef struct note {
    const char *text;
    uint64_t count;
    uint32_t row; // index of the batch's row that follows the note
    kineto_note_kind kind;
} note;

typedef struct batch {
    size_t row_count, arg_count, text_size, note_count;
    uint64_t done, total; // of the source; total 0: unknown
    kineto_row rows[ROWS];
    kineto_arg args[ARGS];
    note notes[NOTES];
    char text[TEXT + KINETO_ROW_TEXT];
} batch;

struct kineto_flow {
    kineto *k;
    void (*parse)(void *user, kineto_flow *flow);
    void *user;
    batch *batches[BATCHES]; // in use: [taken, given), modulo BATCHES
    batch *open;             // the one that the parser fills
    bool is_alone;           // there is no second thread
    pthread_mutex_t lock;    // guards the following
    pthread_cond_t changed;
    uint64_t given, taken;
    bool is_done; // the parser is done
};

/* ---- The importer's side ------------------------------------------------ */

static void take_note(const kineto_flow *flow, const note *n)
{
    import_job *const job = flow->k->job;
    for (uint64_t i = 0; i < n->count && n->kind == KINETO_BAD; i++)
        import_bad(job, n->text, IMPORT_NONE);
    for (uint64_t i = 0; i < n->count && n->kind == KINETO_FLAW; i++)
        import_flaw(job, n->text);
    if (n->kind == KINETO_HOMELESS)
        import_unowned_many(job, n->text, strlen(n->text), n->count);
}

static void take_batch(kineto_flow *flow, const batch *b)
{
    size_t at = 0;
    import_progress_of(flow->k->job, b->done, b->total);
    for (size_t i = 0; i <= b->row_count; i++) {
        while (at < b->note_count && b->notes[at].row == i)
            take_note(flow, &b->notes[at++]);
        if (i == b->row_count) break;
        flow->k->row = &b->rows[i];
        kineto_take(flow->k);
    }
}

static void take_all(kineto_flow *flow)
{
    for (;;) {
        pthread_mutex_lock(&flow->lock);
        while (flow->taken == flow->given && !flow->is_done)
            pthread_cond_wait(&flow->changed, &flow->lock);
        const bool any = flow->taken != flow->given;
        pthread_mutex_unlock(&flow->lock);
        if (!any) return;
        take_batch(flow, flow->batches[flow->taken % BATCHES]);
        pthread_mutex_lock(&flow->lock);
        flow->taken++;
        pthread_cond_signal(&flow->changed);
        pthread_mutex_unlock(&flow->lock);
    }
}

/* ---- The parser's side -------------------------------------------------- */

static void begin_row(kineto_flow *flow)
{
    batch *const b = flow->open;
    b->rows[b->row_count].args = &b->args[b->arg_count];
    b->rows[b->row_count].arg_count = 0;
}

static void open_batch(kineto_flow *flow)
{
    batch *const b = flow->batches[flow->given % BATCHES];
    b->row_count = b->arg_count = b->text_size = b->note_count = 0;
    b->total = 0;
    flow->open = b;
    begin_row(flow);
}

// Queues the open batch and waits for an empty one.
static void hand_over(kineto_flow *flow, bool is_last)
{
    if (flow->is_alone) {
        take_batch(flow, flow->open);
        open_batch(flow);
        return;
    }
    pthread_mutex_lock(&flow->lock);
    flow->given++;
    flow->is_done = is_last;
    pthread_cond_signal(&flow->changed);
    while (!is_last && flow->given - flow->taken == BATCHES)
        pthread_cond_wait(&flow->changed, &flow->lock);
    pthread_mutex_unlock(&flow->lock);
    if (!is_last) open_batch(flow);
}

void kineto_flow_reached(kineto_flow *flow, uint64_t done, uint64_t total)
{
    flow->open->done = done;
    flow->open->total = total;
}

kineto_row *kineto_flow_row(const kineto_flow *flow)
{
    return &flow->open->rows[flow->open->row_count];
}

char *kineto_flow_text(const kineto_flow *flow)
{
    return flow->open->text + flow->open->text_size;
}

void kineto_flow_give(kineto_flow *flow, size_t text_size)
{
    batch *const b = flow->open;
    b->arg_count += b->rows[b->row_count].arg_count;
    b->text_size += text_size;
    b->row_count++;
    if (b->row_count == ROWS || b->arg_count > ARGS - KINETO_ARGS ||
        b->text_size > TEXT || b->note_count > NOTES - CAUSES)
        hand_over(flow, false);
    else
        begin_row(flow);
}

void kineto_note(kineto_flow *flow, kineto_note_kind kind, const char *text)
{
    batch *const b = flow->open;
    for (size_t i = b->note_count; i-- > 0;) {
        note *const n = &b->notes[i];
        if (n->row != b->row_count) break;
        if (n->kind != kind || strcmp(n->text, text)) continue;
        n->count++;
        return;
    }
    b->notes[b->note_count++] = (note){ text, 1, (uint32_t)b->row_count, kind };
}

static void *parse_all(void *user)
{
    kineto_flow *const flow = user;
    flow->parse(flow->user, flow);
    hand_over(flow, true);
    return NULL;
}

/* ---- Both --------------------------------------------------------------- */

// Starts a thread with all signals blocked: the main thread handles them and
// removes partial files.
static bool start(kineto_flow *flow, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool made = pthread_create(thread, NULL, parse_all, flow) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

static void run(kineto_flow *flow)
{
    pthread_t thread;
    pthread_mutex_init(&flow->lock, NULL);
    pthread_cond_init(&flow->changed, NULL);
    open_batch(flow);
    if (start(flow, &thread)) {
        take_all(flow);
        pthread_join(thread, NULL);
    } else {
        flow->is_alone = true;
        parse_all(flow);
    }
    pthread_cond_destroy(&flow->changed);
    pthread_mutex_destroy(&flow->lock);
}

bool kineto_flow_run(kineto *k, void (*parse)(void *user, kineto_flow *flow),
                     void *user)
{
    kineto_flow *const flow = calloc(1, sizeof *flow);
    bool ok = flow != NULL;
    if (flow) {
        flow->k = k;
        flow->parse = parse;
        flow->user = user;
        for (size_t i = 0; i < BATCHES; i++)
            ok &= (flow->batches[i] = malloc(sizeof(batch))) != NULL;
        if (ok) run(flow);
        for (size_t i = 0; i < BATCHES; i++)
            free(flow->batches[i]);
    }
    free(flow);
    return ok;
}
