/* ---- Writer: chunks encoded by several threads -------------------------- */

/*
    With more than one thread, workers encode and compress chunks while the
    caller goes on. What is to be appended waits in a ring of jobs, in the order
    of the calls. Only the caller appends, so that the file, its errors and
    errno are those of a single thread. A caller that finds the ring full
    encodes a chunk itself instead of waiting.

        first          taken            end
        | done | taken | new  | new  |  free ...
*/
enum { TS__PUT_THREADS = 32, TS__PUT_JOBS = 2 * TS__PUT_THREADS };
enum { TS__PUT_COPY = 1 << 20 }; // more bytes are appended without a job

typedef struct ts__put_job {
    ts__encoder *encoder; // rows of a chunk; NULL: finished chunks in `bytes`
    uint8_t *bytes;
    size_t size;
    uint32_t kind, count;
    bool done;
} ts__put_job;

struct ts__put_crew {
    // Guards taken, end, fresh, idle, stop, and `done` of jobs.
    pthread_mutex_t mutex;
    pthread_cond_t news; // a job is new, or stop is set
    pthread_cond_t done;
    ts__put_job jobs[TS__PUT_JOBS];
    uint64_t first, taken, end; // numbers of jobs
    uint32_t fresh;             // jobs with an encoder that nobody has taken
    uint32_t room;              // jobs that may wait
    uint32_t most, made, idle;  // workers
    bool stop;
    pthread_t threads[TS__PUT_THREADS];
    ts__encoder *spare[TS__PUT_JOBS + 1];
    uint32_t spares;
};

static ts__put_job *ts__put_job_at(ts__put_crew *crew, uint64_t number)
{
    return &crew->jobs[number % TS__PUT_JOBS];
}

static void ts__put_encode_rows(ts__encoder *e, uint32_t kind, uint32_t count)
{
    ts__encoder_reset(e);
    if (kind != TS_EVENT_ZONE) {
        ts__encode_rows(e, kind, 0, count);
        return;
    }
    uint32_t track = (uint32_t)e->track[0];
    for (uint32_t i = 1; i < count; i++)
        if (e->track[i] != track) track = TS_TRACK_MIXED;
    ts__encode_zones(e, track, count);
}

static void ts__put_append_now(ts_writer *w, uint8_t *bytes, size_t size)
{
    ts_result result = ts__writer_prepare(&w->file, 1);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK)
        result = ts__writer_append(&w->file, bytes, size, NULL, &commit);
    ts__writer_failed(&w->file, result);
}

static void ts__put_append_encoded(ts_writer *w, ts__encoder *e)
{
    ts_result result = ts__writer_prepare(&w->file, e->chunks);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK) result = ts__writer_chunks(&w->file, e, &commit);
    ts__writer_failed(&w->file, result);
}

// Encodes the first new job. The mutex is held, but not meanwhile.
static void ts__put_work(ts__put_crew *crew)
{
    ts__put_job *const job = ts__put_job_at(crew, crew->taken++);
    if (!job->encoder) return; // done already
    crew->fresh--;
    pthread_mutex_unlock(&crew->mutex);
    ts__put_encode_rows(job->encoder, job->kind, job->count);
    pthread_mutex_lock(&crew->mutex);
    job->done = true;
    pthread_cond_signal(&crew->done);
}

static void *ts__put_worker(void *argument)
{
    ts__put_crew *const crew = (ts__put_crew *)argument;
    pthread_mutex_lock(&crew->mutex);
    while (!crew->stop) {
        if (crew->fresh) {
            ts__put_work(crew);
            continue;
        }
        crew->idle++;
        pthread_cond_wait(&crew->news, &crew->mutex);
        crew->idle--;
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

// Appends the first job, which is done.
static void ts__put_commit(ts_writer *w, ts__put_job *job)
{
    ts__put_crew *const crew = w->crew;
    if (job->encoder)
        ts__put_append_encoded(w, job->encoder);
    else
        ts__put_append_now(w, job->bytes, job->size);
    if (job->encoder) crew->spare[crew->spares++] = job->encoder;
    free(job->bytes);
    memset(job, 0, sizeof *job);
    crew->first++;
}

// Appends what is done, and more until at most `left` jobs wait. After an error
// all that wait are kept, to be freed in the end.
static void ts__put_wait(ts_writer *w, uint32_t left)
{
    ts__put_crew *const crew = w->crew;
    if (!crew) return;
    pthread_mutex_lock(&crew->mutex);
    while (crew->first != crew->end && w->file.error == TS_OK) {
        ts__put_job *const job = ts__put_job_at(crew, crew->first);
        if (crew->first == crew->taken && !job->encoder) crew->taken++;
        if (crew->first != crew->taken && job->done) {
            pthread_mutex_unlock(&crew->mutex);
            ts__put_commit(w, job);
            pthread_mutex_lock(&crew->mutex);
        } else if (crew->end - crew->first <= left) {
            break;
        } else if (crew->taken != crew->end) {
            ts__put_work(crew);
        } else {
            pthread_cond_wait(&crew->done, &crew->mutex);
        }
    }
    pthread_mutex_unlock(&crew->mutex);
}

static void ts__put_failed(ts_writer *w, ts_result result)
{
    if (result != TS_OK) ts__put_wait(w, 0);
    ts__writer_failed(&w->file, result);
}

// Starts a worker that gets no signals. If it cannot, the others do its work.
static void ts__put_hire(ts__put_crew *crew)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&crew->threads[crew->made], NULL, ts__put_worker,
                       crew) == 0)
        crew->made++;
    else
        crew->most = crew->made;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Adds a job. False after an error: then it is not taken.
static bool ts__put_submit(ts_writer *w, ts__put_job job)
{
    ts__put_crew *const crew = w->crew;
    ts__put_wait(w, crew->room - 1);
    if (w->file.error != TS_OK) return false;
    *ts__put_job_at(crew, crew->end) = job;
    pthread_mutex_lock(&crew->mutex);
    crew->end++;
    if (job.encoder) {
        crew->fresh++;
        // A trace of a single chunk needs no worker.
        if (crew->idle)
            pthread_cond_signal(&crew->news);
        else if (crew->fresh > 1 && crew->made < crew->most)
            ts__put_hire(crew);
    }
    pthread_mutex_unlock(&crew->mutex);
    return true;
}

// Appends finished chunks after all that wait.
static void ts__put_append(ts_writer *w, uint8_t *bytes, size_t size)
{
    ts__put_job job;
    memset(&job, 0, sizeof job);
    job.size = size;
    job.done = true;
    if (w->crew && size <= TS__PUT_COPY) job.bytes = (uint8_t *)malloc(size);
    if (!job.bytes) {
        ts__put_wait(w, 0);
        if (w->file.error == TS_OK) ts__put_append_now(w, bytes, size);
        return;
    }
    memcpy(job.bytes, bytes, size);
    if (!ts__put_submit(w, job)) free(job.bytes);
}

// An encoder that is free. Without memory for another one it is one of those
// that wait now, and fewer wait from then on.
static ts__encoder *ts__put_encoder(ts_writer *w)
{
    ts__put_crew *const crew = w->crew;
    if (!crew->spares) {
        void *const fresh = ts__pages_new(sizeof(ts__encoder));
        if (fresh) return (ts__encoder *)fresh;
        if (crew->room > 1) crew->room /= 2;
        ts__put_wait(w, 0);
    }
    return crew->spares ? crew->spare[--crew->spares] : NULL;
}

// Writes the encoder's columns as a chunk.
static void ts__put_encode(ts_writer *w, uint32_t kind, uint32_t count)
{
    ts__put_crew *const crew = w->crew;
    ts__put_job job;
    if (!crew) {
        ts__put_encode_rows(w->encoder, kind, count);
        ts__put_append_encoded(w, w->encoder);
        return;
    }
    memset(&job, 0, sizeof job);
    job.encoder = w->encoder;
    job.kind = kind;
    job.count = count;
    const uint32_t compress = w->encoder->compress;
    if (!ts__put_submit(w, job)) return;
    w->encoder = ts__put_encoder(w);
    if (w->encoder)
        w->encoder->compress = compress;
    else
        ts__put_failed(w, TS_ERR_MEMORY);
}

// The workers of a writer; without memory, it has none.
static void ts__put_crew_open(ts_writer *w, uint32_t threads)
{
    if (threads < 2) return;
    ts__put_crew *const crew = (ts__put_crew *)ts__pages_new(sizeof *crew);
    if (!crew) return;
    crew->most =
        threads - 1 < TS__PUT_THREADS ? threads - 1 : TS__PUT_THREADS - 1;
    crew->room = 2 * crew->most + 2;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->news, NULL);
    pthread_cond_init(&crew->done, NULL);
    w->crew = crew;
}

static void ts__put_dismiss(ts__put_crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    crew->stop = true;
    pthread_cond_broadcast(&crew->news);
    pthread_mutex_unlock(&crew->mutex);
    for (uint32_t i = 0; i < crew->made; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->news);
    pthread_cond_destroy(&crew->done);
    pthread_mutex_destroy(&crew->mutex);
}

// Ends the workers; jobs that wait are not written. A child made by fork has
// no workers, and a mutex that one of them may have held.
static void ts__put_crew_close(ts_writer *w)
{
    ts__put_crew *const crew = w->crew;
    if (!crew) return;
    if (!ts__put_inherited(w)) ts__put_dismiss(crew);
    for (; crew->first != crew->end; crew->first++) {
        ts__put_job *const job = ts__put_job_at(crew, crew->first);
        if (job->encoder) munmap(job->encoder, sizeof *job->encoder);
        free(job->bytes);
    }
    for (uint32_t i = 0; i < crew->spares; i++)
        munmap(crew->spare[i], sizeof *crew->spare[i]);
    munmap(crew, sizeof *crew);
    w->crew = NULL;
}

static void ts__put_alone(ts_writer *w)
{
    ts__put_wait(w, 0);
    ts__put_crew_close(w);
}
