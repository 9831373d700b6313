/*
    serve.c - a server of the page, of answers about the trace, and of tasks

    It listens on the loopback interface. Whoever can connect, such as another
    user or a page of a hostile site, is refused without the token, which only
    the fragment of the printed address holds and which no browser sends by
    itself. Host and Origin are compared, so that no other name for this
    address (DNS rebinding) is of use.

    A connection is a guest until it asks with the token. Guests do not keep
    the owner out: one that says nothing for a second is closed, and when there
    are too many, the oldest is. What they send is not kept.
*/
#define _GNU_SOURCE // getrandom
#include "tools/studio/serve/serve.h"
#include "tools/studio/serve/capture.h"
#include "tools/studio/serve/notes.h"
#include "tools/studio/serve/tasks.h"

#ifdef TRACESMITH_MICROHTTPD
#include <arpa/inet.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TOKEN_BYTES = 16,
    MOST_QUESTION = 1 << 20, // bytes
    MOST_GUESTS = 64,
    MOST_CONNECTIONS = 2 * MOST_GUESTS, // the closing ones and the owner's
    // Without a word from it, a connection is closed.
    GUEST_SECONDS = 1,
    PAGE_SECONDS = 10, // the page goes to guests, too
    IDLE_SECONDS = 60
};

// A connection.
typedef struct visitor {
    int socket;
} visitor;

typedef struct server {
    const studio_server_desc *desc;
    char token[2 * TOKEN_BYTES + 1];
    char host[2][32];   // what Host may be
    char origin[2][48]; // what Origin may be
    char *page;
    size_t page_size;
    char *about;
    size_t about_size;
    studio_tasks tasks;
    studio_capture capture;
    visitor *guests[MOST_GUESTS]; // the oldest first
    size_t guest_count;
} server;

// A question on its way in.
typedef struct incoming {
    uint8_t *bytes;
    size_t size, room;
    bool too_large;
    bool guest;        // without the token: nothing is kept
    studio_task *task; // that its answer waits for
    struct MHD_Connection *connection;
} incoming;

/* ---- Who asks ------------------------------------------------------------ */

static bool make_token(server *s)
{
    uint8_t bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

// Takes the same time whatever is equal.
static bool is_token(const server *s, const char *given)
{
    unsigned differs = 0;
    if (!given || strlen(given) != sizeof s->token - 1) return false;
    for (size_t i = 0; i < sizeof s->token - 1; i++)
        differs |= (unsigned)(s->token[i] ^ given[i]);
    return !differs;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_ours(const server *s, struct MHD_Connection *c)
{
    const char *const host = header(c, "Host");
    const char *const origin = header(c, "Origin");
    if (!host || (strcmp(host, s->host[0]) && strcmp(host, s->host[1])))
        return false;
    return !origin || !strcmp(origin, s->origin[0]) ||
           !strcmp(origin, s->origin[1]);
}

/* ---- Guests -------------------------------------------------------------- */

// All of this runs on the server's one thread.

static void drop_guest(server *s, const visitor *v)
{
    size_t i = 0;
    while (i < s->guest_count && s->guests[i] != v)
        i++;
    if (i == s->guest_count) return;
    s->guest_count--;
    memmove(s->guests + i, s->guests + i + 1,
            (s->guest_count - i) * sizeof *s->guests);
}

static void add_guest(server *s, visitor *v)
{
    if (s->guest_count == MOST_GUESTS) { // the daemon sees its end, and closes
        shutdown(s->guests[0]->socket, SHUT_RDWR);
        drop_guest(s, s->guests[0]);
    }
    s->guests[s->guest_count++] = v;
}

static void limit_silence(struct MHD_Connection *c, unsigned seconds)
{
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

// The connection has asked with the token.
static void trust(server *s, struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context) drop_guest(s, info->socket_context);
    limit_silence(c, IDLE_SECONDS);
}

static void connection(void *user, struct MHD_Connection *c, void **state,
                       enum MHD_ConnectionNotificationCode code)
{
    server *const s = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*state) drop_guest(s, *state);
        free(*state);
        *state = NULL;
        return;
    }
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    visitor *const v = info ? calloc(1, sizeof *v) : NULL;
    *state = v;
    if (!v) return; // a second of silence ends it
    v->socket = info->connect_fd;
    add_guest(s, v);
}

/* ---- Answers ------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status,
                             struct MHD_Response *r, const char *type)
{
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    // The page says the rest itself; this cannot stand in a page.
    MHD_add_response_header(r, "Content-Security-Policy",
                            "frame-ancestors 'none'");
    const enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status,
                              const char *text)
{
    return reply(c, status,
                 MHD_create_response_from_buffer(strlen(text),
                                                 (void *)(uintptr_t)text,
                                                 MHD_RESPMEM_PERSISTENT),
                 "text/plain; charset=utf-8");
}

static enum MHD_Result send_static(struct MHD_Connection *c, char *bytes,
                                   size_t size, const char *type)
{
    return reply(
        c, MHD_HTTP_OK,
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_PERSISTENT),
        type);
}

static enum MHD_Result answer(scene *asked, struct MHD_Connection *c,
                              const incoming *in)
{
    uint8_t *bytes;
    size_t size;
    if (in->too_large)
        return refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, "too large");
    scene_answer(asked, in->bytes, in->size, &bytes, &size);
    if (!bytes) return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
    return reply(
        c, MHD_HTTP_OK,
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE),
        "application/octet-stream");
}

// text: the notes, a version of which the answer names.
static enum MHD_Result reply_notes(struct MHD_Connection *c, const void *text,
                                   size_t size, struct MHD_Response *r)
{
    char version[STUDIO_NOTES_VERSION];
    studio_notes_version(text, size, version);
    if (r) MHD_add_response_header(r, "ETag", version);
    return reply(c, MHD_HTTP_OK, r, "application/json");
}

static enum MHD_Result send_notes(const server *s, struct MHD_Connection *c)
{
    char *text;
    size_t size;
    if (!s->desc->path) return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
    const char *const why = studio_notes_read(s->desc->beside, &text, &size);
    if (why) return refuse(c, MHD_HTTP_CONFLICT, why);
    return reply_notes(
        c, text, size,
        MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result keep_notes(const server *s, struct MHD_Connection *c,
                                  const incoming *in)
{
    if (!s->desc->path) return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
    const char *const why =
        in->too_large ? "too large"
                      : studio_notes_write(s->desc->beside, in->bytes, in->size,
                                           header(c, "If-Match"));
    return why ? refuse(c, MHD_HTTP_CONFLICT, why)
               : reply_notes(c, in->bytes, in->size,
                             MHD_create_response_from_buffer(
                                 0, NULL, MHD_RESPMEM_PERSISTENT));
}

/* ---- Captures ------------------------------------------------------------ */

static enum MHD_Result send_capture(server *s, struct MHD_Connection *c)
{
    channel_figures figures;
    char text[128];
    if (!s->capture.channel)
        return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
    const char *const state = studio_capture_state(&s->capture, &figures);
    const int size =
        snprintf(text, sizeof text, "{\"state\":\"%s\",\"kept\":%" PRIu64 "}",
                 state, figures.kept);
    return reply(c, MHD_HTTP_OK,
                 MHD_create_response_from_buffer((size_t)size, text,
                                                 MHD_RESPMEM_MUST_COPY),
                 "application/json");
}

static enum MHD_Result ask_capture(server *s, struct MHD_Connection *c,
                                   const incoming *in)
{
    if (!s->capture.channel)
        return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
    const char *const why =
        in->too_large
            ? "too large"
            : studio_capture_ask(&s->capture,
                                 in->bytes ? in->bytes : (const uint8_t *)"",
                                 in->size);
    return why ? refuse(c, MHD_HTTP_CONFLICT, why) : send_capture(s, c);
}

/* ---- Tasks --------------------------------------------------------------- */

// Tasks open a trace again: not another one than the page shows.
static bool is_other(const char *path, const struct stat *opened)
{
    struct stat now;
    return path && (stat(path, &now) || now.st_dev != opened->st_dev ||
                    now.st_ino != opened->st_ino);
}

static void resume(void *user)
{
    MHD_resume_connection(((incoming *)user)->connection);
}

// The answer is given when the task has ended: handle() is called again.
static enum MHD_Result begin_task(server *s, struct MHD_Connection *c,
                                  incoming *in)
{
    const char *why = "too large";
    if (!s->desc->path) return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
    if (is_other(s->desc->path, &s->desc->file) ||
        is_other(s->desc->other, &s->desc->other_file))
        return refuse(c, MHD_HTTP_CONFLICT,
                      "the trace was replaced or removed since it was opened: "
                      "start ts-studio again");
    in->connection = c;
    if (in->too_large) return refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, why);
    const char *const seconds = header(c, "X-Studio-Seconds");
    const studio_task_desc desc = {
        .path = s->desc->path,
        .other = s->desc->other,
        .mangled = s->desc->mangled,
        .text = in->bytes ? in->bytes : (const uint8_t *)"",
        .size = in->size,
        .seconds = seconds ? (uint32_t)strtoul(seconds, NULL, 10) : 0,
        .done = resume,
        .user = in,
    };
    MHD_suspend_connection(c);
    in->task = studio_task_begin(&s->tasks, &desc, &why);
    if (in->task) return MHD_YES;
    MHD_resume_connection(c);
    return refuse(c, MHD_HTTP_CONFLICT, why);
}

static enum MHD_Result send_task(struct MHD_Connection *c, studio_task *task)
{
    struct stat about;
    if (*task->why)
        return reply(c, MHD_HTTP_UNPROCESSABLE_CONTENT,
                     MHD_create_response_from_buffer(
                         strlen(task->why), task->why, MHD_RESPMEM_MUST_COPY),
                     "text/plain; charset=utf-8");
    const int file = task->file;
    if (file >= 0 && fstat(file, &about) == 0) {
        task->file = -1; // the response closes it
        return reply(
            c, MHD_HTTP_OK,
            MHD_create_response_from_fd64((uint64_t)about.st_size, file),
            "application/octet-stream");
    }
    char *const bytes = task->output;
    task->output = NULL;
    return reply(c, MHD_HTTP_OK,
                 MHD_create_response_from_buffer(task->size, bytes,
                                                 MHD_RESPMEM_MUST_FREE),
                 "application/octet-stream");
}

static enum MHD_Result end_task(server *s, struct MHD_Connection *c,
                                incoming *in)
{
    const enum MHD_Result result = send_task(c, in->task);
    studio_task_close(&s->tasks, in->task);
    in->task = NULL;
    return result;
}

static enum MHD_Result cancel_task(server *s, struct MHD_Connection *c)
{
    studio_task_cancel(&s->tasks);
    return refuse(c, MHD_HTTP_OK, "cancelled");
}

static enum MHD_Result post(server *s, struct MHD_Connection *c,
                            const char *url, incoming *in)
{
    if (!strcmp(url, "/ask")) return answer(s->desc->scene, c, in);
    if (!strcmp(url, "/ask2") && s->desc->other_scene)
        return answer(s->desc->other_scene, c, in);
    if (!strcmp(url, "/notes")) return keep_notes(s, c, in);
    if (!strcmp(url, "/task")) return begin_task(s, c, in);
    if (!strcmp(url, "/cancel")) return cancel_task(s, c);
    if (!strcmp(url, "/capture")) return ask_capture(s, c, in);
    return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
}

static enum MHD_Result route(server *s, struct MHD_Connection *c,
                             const char *url, const char *method, incoming *in)
{
    const bool get = !strcmp(method, "GET");
    if (!is_ours(s, c)) return refuse(c, MHD_HTTP_FORBIDDEN, "not from here");
    if (get && !strcmp(url, "/")) {
        if (in->guest) limit_silence(c, PAGE_SECONDS);
        return send_static(c, s->page, s->page_size,
                           "text/html; charset=utf-8");
    }
    if (in->guest)
        return refuse(c, MHD_HTTP_FORBIDDEN,
                      "The address lacks its token: use the one that "
                      "ts-studio printed.");
    if (get && !strcmp(url, "/about"))
        return send_static(c, s->about, s->about_size, "application/json");
    if (get && !strcmp(url, "/notes")) return send_notes(s, c);
    if (get && !strcmp(url, "/capture")) return send_capture(s, c);
    if (!strcmp(method, "POST")) return post(s, c, url, in);
    return refuse(c, MHD_HTTP_NOT_FOUND, "no such thing");
}

/* ---- Requests ------------------------------------------------------------ */

static void take(incoming *in, const char *bytes, size_t size)
{
    if (in->size + size > MOST_QUESTION ||
        !cli_grow(&in->bytes, &in->room, in->size + size, 1)) {
        in->too_large = true;
        return;
    }
    memcpy(in->bytes + in->size, bytes, size);
    in->size += size;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c,
                              const char *url, const char *method,
                              const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)version;
    incoming *in = *state;
    if (!in) { // the headers are there, the body is not
        *state = in = calloc(1, sizeof *in);
        if (!in) return MHD_NO;
        in->guest =
            !is_ours(user, c) || !is_token(user, header(c, "X-Studio-Token"));
        if (!in->guest) trust(user, c);
        return MHD_YES;
    }
    if (*upload_size) {
        if (!in->guest) take(in, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (in->task) return end_task(user, c, in);
    return route(user, c, url, method, in);
}

static void done(void *user, struct MHD_Connection *c, void **state,
                 enum MHD_RequestTerminationCode code)
{
    (void)c, (void)code;
    server *const s = user;
    incoming *const in = *state;
    if (!in) return;
    if (in->task) studio_task_close(&s->tasks, in->task);
    free(in->bytes);
    free(in);
    *state = NULL;
}

/* ---- Starting ------------------------------------------------------------ */

// Starts the user's browser in a process of its own, which nobody waits for.
static void open_browser(const char *address)
{
    const pid_t child = fork();
    if (child) {
        if (child > 0) waitpid(child, NULL, 0);
        return;
    }
    if (fork()) _exit(0);
    const int null = cli_open_plain("/dev/null");
    if (null >= 0) dup2(null, STDERR_FILENO);
    execlp("xdg-open", "xdg-open", address, (char *)NULL);
    _exit(0);
}

static void set_names(server *s, uint16_t port)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };
    for (int i = 0; i < 2; i++) {
        snprintf(s->host[i], sizeof s->host[i], "%s:%u", names[i], port);
        snprintf(s->origin[i], sizeof s->origin[i], "http://%s:%u", names[i],
                 port);
    }
}

static bool prepare(server *s)
{
    FILE *const memory = open_memstream(&s->about, &s->about_size);
    studio_about about = *s->desc->about;
    s->page = studio_page_served(&s->page_size);
    about.captures = studio_capture_open(&s->capture, s->desc->folder);
    if (memory) {
        studio_about_write(&about, memory);
        fclose(memory);
    }
    return s->page && s->about && make_token(s);
}

// Returns a socket that listens on the loopback interface; -1: it cannot.
static int listen_on(uint16_t *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(*port) };
    socklen_t size = sizeof address;
    const int on = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)&address, size) ||
        listen(s, MOST_CONNECTIONS) ||
        getsockname(s, (struct sockaddr *)&address, &size)) {
        close(s);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return s;
}

// The daemon closes the socket. One thread: a scene is used by one at a time.
static struct MHD_Daemon *start(server *s, int socket)
{
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
            MHD_ALLOW_SUSPEND_RESUME,
        0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, socket,
        MHD_OPTION_NOTIFY_COMPLETED, done, s, MHD_OPTION_NOTIFY_CONNECTION,
        connection, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)GUEST_SECONDS, MHD_OPTION_END);
}

// Waits until somebody ends it, as with Ctrl+C.
static void serve(const server *s, const sigset_t *ends, uint16_t port)
{
    char address[128];
    int number;
    snprintf(address, sizeof address, "http://127.0.0.1:%u/#token=%s", port,
             s->token);
    cli_print("%s\n", address);
    fflush(cli_stdout());
    if (!s->desc->no_browser) open_browser(address);
    sigwait(ends, &number);
}

static bool run(server *s, const sigset_t *ends)
{
    uint16_t port = s->desc->port;
    const int socket = listen_on(&port);
    set_names(s, port);
    struct MHD_Daemon *const daemon = socket < 0 ? NULL : start(s, socket);
    if (!daemon)
        return cli_fail(s->desc->tool, TS_ERR_IO, NULL,
                        "port %u of 127.0.0.1: %s", s->desc->port,
                        strerror(errno));
    serve(s, ends, port);
    studio_tasks_end(&s->tasks);
    MHD_stop_daemon(daemon);
    return true;
}

// A signal that is ignored, as with nohup, ends nothing.
static void add_heeded(sigset_t *ends, int number)
{
    struct sigaction old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaddset(ends, number);
}

bool studio_serve(const studio_server_desc *desc)
{
    server s = { .desc = desc, .tasks = { .lock = PTHREAD_MUTEX_INITIALIZER } };
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    add_heeded(&ends, SIGHUP);
    add_heeded(&ends, SIGQUIT);
    // Threads inherit this, so that none of them is interrupted.
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    const bool ok =
        prepare(&s) ? run(&s, &ends) : cli_out_of_memory(desc->tool);
    studio_capture_close(&s.capture);
    free(s.page);
    free(s.about);
    return ok;
}

#else

bool studio_serve(const studio_server_desc *desc)
{
    return cli_fail(desc->tool, TS_ERR_UNSUPPORTED, NULL,
                    "this build lacks libmicrohttpd, so it serves no page: "
                    "-o PAGE writes one");
}

#endif // TRACESMITH_MICROHTTPD
