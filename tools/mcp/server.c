/*
    server.c - lines in, lines out; two threads and the queue between them
*/
#include "tools/mcp/protocol.h"
#include <unistd.h>

/* ---- Opening ------------------------------------------------------------- */

// The make file says that this depends on it.
__asm__(".section .rodata\n"
        "mcp_catalog:\n"
        ".incbin \"docs/json-schema/ts-mcp.json\"\n"
        "mcp_catalog_end:\n"
        ".byte 0\n"
        ".global mcp_catalog\n"
        ".hidden mcp_catalog\n"
        ".global mcp_catalog_end\n"
        ".hidden mcp_catalog_end\n"
        ".previous\n");
extern const char mcp_catalog[], mcp_catalog_end[];

static bool open_server(mcp_server *server, const char *const *paths,
                        size_t count)
{
    const cli_tool *const tool = server->tool;
    if (!mcp_json_readable()) {
        cli_error(tool, NULL,
                  "this ts-mcp was built without yajl, which reads its "
                  "messages: install libyajl-dev and build again");
        return false;
    }
    if (!mcp_json_read(&server->catalog, mcp_catalog,
                       (size_t)(mcp_catalog_end - mcp_catalog))) {
        cli_error(tool, NULL, "the list of tools is damaged: %s",
                  server->catalog.why);
        return false;
    }
    return mcp_models_open(&server->models, tool, paths, count);
}

mcp_server *mcp_open(const cli_tool *tool, const char *const *paths,
                     size_t count,
                     void (*send)(void *user, const char *line, size_t size),
                     void *user)
{
    mcp_server *const server = calloc(1, sizeof *server);
    if (!server) {
        cli_out_of_memory(tool);
        return NULL;
    }
    *server = (mcp_server){
        .tool = tool, .revision = MCP_NONE, .send = send, .user = user
    };
    pthread_mutex_init(&server->sending, NULL);
    if (open_server(server, paths, count)) return server;
    mcp_close(server);
    return NULL;
}

void mcp_close(mcp_server *server)
{
    if (!server) return;
    mcp_models_close(&server->models);
    mcp_json_close(&server->catalog);
    pthread_mutex_destroy(&server->sending);
    free(server);
}

/* ---- The queue ----------------------------------------------------------- */

// More requests than this wait unread: then cancellations do, too.
enum { QUEUE_MOST = 256 };

typedef struct queue {
    mcp_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    mcp_message *first, *last;
    mcp_message *current; // that is being answered
    size_t count;
    bool ended; // nothing more comes in
} queue;

static void put_message(queue *q, mcp_message *message)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == QUEUE_MOST)
        pthread_cond_wait(&q->changed, &q->lock);
    if (q->last)
        q->last->next = message;
    else
        q->first = message;
    q->last = message;
    q->count++;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

// The next message, which becomes the current one; NULL: there is none any
// more.
static mcp_message *take_message(queue *q)
{
    pthread_mutex_lock(&q->lock);
    mcp_message_close(q->current);
    q->current = NULL;
    while (!q->first && !q->ended)
        pthread_cond_wait(&q->changed, &q->lock);
    mcp_message *const message = q->first;
    if (message) {
        q->first = message->next;
        if (!q->first) q->last = NULL;
        q->count--;
        q->current = message;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return message;
}

static void cancel(queue *q, const mcp_value *id)
{
    pthread_mutex_lock(&q->lock);
    bool found = q->current && mcp_message_cancel(q->current, id);
    for (mcp_message *m = q->first; m && !found; m = m->next)
        found = mcp_message_cancel(m, id);
    pthread_mutex_unlock(&q->lock);
}

// What cannot wait is done by the reading thread. True: nothing is left to do.
static bool take_at_once(queue *q, const mcp_value *message)
{
    const mcp_value *const id = mcp_at(message, "id");
    if (mcp_message_is(message, "notifications/cancelled") && !id) {
        cancel(q, mcp_at(mcp_at(message, "params"), "requestId"));
        return true;
    }
    const bool ping = mcp_message_is(message, "ping") &&
                      (mcp_is(id, MCP_STRING) || mcp_is(id, MCP_NUMBER));
    if (ping) mcp_pong(q->server, id);
    return ping;
}

static bool is_done(queue *q, const mcp_value *root)
{
    if (!mcp_is(root, MCP_ARRAY)) return take_at_once(q, root);
    for (const mcp_value *v = root->first; v; v = v->next)
        if (mcp_message_is(v, "notifications/cancelled")) take_at_once(q, v);
    return false;
}

static void take_line(queue *q, const char *line, size_t size)
{
    if (size && line[size - 1] == '\r') size--;
    if (!size) return;
    mcp_message *const message = mcp_message_read(line, size);
    if (!message || is_done(q, message->json.root))
        mcp_message_close(message);
    else
        put_message(q, message);
}

/* ---- Reading ------------------------------------------------------------- */

typedef struct input {
    mcp_text line;
    bool skips; // the rest of a line that is too long
} input;

static void end_line(queue *q, input *in)
{
    if (in->skips)
        mcp_too_long(q->server);
    else
        take_line(q, in->line.text, in->line.size);
    in->line.size = 0;
    in->skips = false;
}

static void take_bytes(queue *q, input *in, const char *bytes, size_t size)
{
    while (size) {
        const char *const end = memchr(bytes, '\n', size);
        const size_t part = end ? (size_t)(end - bytes) : size;
        if (!in->skips) in->skips = !mcp_text_add(&in->line, bytes, part);
        if (end) end_line(q, in);
        bytes += part + (end != NULL);
        size -= part + (end != NULL);
    }
}

static bool read_all(queue *q, int from)
{
    char bytes[65536];
    input in = { .line = { .most = MCP_LINE_MOST } };
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) > 0 ||
           (size < 0 && errno == EINTR))
        if (size > 0) take_bytes(q, &in, bytes, (size_t)size);
    if (in.line.size || in.skips) end_line(q, &in);
    free(in.line.text);
    return !size;
}

static void *answer_all(void *user)
{
    queue *const q = user;
    const mcp_message *message;
    while ((message = take_message(q)) != NULL)
        mcp_message_answer(q->server, message);
    return NULL;
}

int mcp_serve(mcp_server *server, int from)
{
    queue q = { .server = server,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER };
    pthread_t worker;
    if (pthread_create(&worker, NULL, answer_all, &q)) {
        cli_error(server->tool, NULL, "no thread can be started");
        return CLI_FAILED;
    }
    const bool read = read_all(&q, from);
    if (!read)
        cli_error(server->tool, NULL, "standard input cannot be read: %s",
                  strerror(errno));
    pthread_mutex_lock(&q.lock);
    q.ended = true;
    pthread_cond_broadcast(&q.changed);
    pthread_mutex_unlock(&q.lock);
    pthread_join(worker, NULL);
    return read ? CLI_OK : CLI_FAILED;
}
