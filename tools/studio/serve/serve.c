/*
    serve.c - a server of three answers: the page, about the trace, a question

    It listens on the loopback interface. Whoever can connect, such as another
    user or a page of a hostile site, is refused without the token, which only
    the fragment of the printed address holds and which no browser sends by
    itself. Host and Origin are compared, so that no other name for this
    address (DNS rebinding) is of use.
*/
#define _GNU_SOURCE // getrandom
#include "tools/studio/serve/serve.h"

#ifdef TRACESMITH_MICROHTTPD
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TOKEN_BYTES = 16,
    MOST_QUESTION = 1 << 20, // bytes
    MOST_CONNECTIONS = 16,
    IDLE_SECONDS = 60 // after which a connection is closed
};

typedef struct server {
    const studio_server_desc *desc;
    char token[2 * TOKEN_BYTES + 1];
    char host[2][32];   // what Host may be
    char origin[2][48]; // what Origin may be
    char *page;
    size_t page_size;
    char *about;
    size_t about_size;
} server;

// A question on its way in.
typedef struct incoming {
    uint8_t *bytes;
    size_t size, room;
    bool too_large;
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

static enum MHD_Result answer(const server *s, struct MHD_Connection *c,
                              const incoming *in)
{
    uint8_t *bytes;
    size_t size;
    if (in->too_large)
        return refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, "too large");
    scene_answer(s->desc->scene, in->bytes, in->size, &bytes, &size);
    if (!bytes) return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
    return reply(
        c, MHD_HTTP_OK,
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE),
        "application/octet-stream");
}

static enum MHD_Result route(const server *s, struct MHD_Connection *c,
                             const char *url, const char *method,
                             const incoming *in)
{
    const bool get = !strcmp(method, "GET"), post = !strcmp(method, "POST");
    if (!is_ours(s, c)) return refuse(c, MHD_HTTP_FORBIDDEN, "not from here");
    if (get && !strcmp(url, "/"))
        return send_static(c, s->page, s->page_size,
                           "text/html; charset=utf-8");
    if (!is_token(s, header(c, "X-Studio-Token")))
        return refuse(c, MHD_HTTP_FORBIDDEN,
                      "The address lacks its token: use the one that "
                      "ts-studio printed.");
    if (get && !strcmp(url, "/about"))
        return send_static(c, s->about, s->about_size, "application/json");
    if (post && !strcmp(url, "/ask")) return answer(s, c, in);
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
        return in ? MHD_YES : MHD_NO;
    }
    if (*upload_size) {
        take(in, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    return route(user, c, url, method, in);
}

static void done(void *user, struct MHD_Connection *c, void **state,
                 enum MHD_RequestTerminationCode code)
{
    (void)user, (void)c, (void)code;
    incoming *const in = *state;
    if (!in) return;
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
    s->page = studio_page_served(&s->page_size);
    if (memory) {
        studio_about_write(s->desc->about, memory);
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
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, handle,
        s, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, done,
        NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
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
    MHD_stop_daemon(daemon);
    return true;
}

bool studio_serve(const studio_server_desc *desc)
{
    server s = { .desc = desc };
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    // Threads inherit this, so that none of them is interrupted.
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    const bool ok =
        prepare(&s) ? run(&s, &ends) : cli_out_of_memory(desc->tool);
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
