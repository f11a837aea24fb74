/* A load generator for HTTP/1.1 over a Unix socket: keep-alive connections that send one fixed request again and again.
 *
 *   load SOCKET REQUEST_FILE CONNECTIONS REQUESTS
 *
 * prints {"ok":N,"failed":N,"seconds":S,"p50_us":U,"p99_us":U}. A response counts as ok if its status is 200 and its
 * body holds "decision":"ALLOW". It is not Python, so that what is measured is the service.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (256 * 1024)

struct connection {
    int fd;
    size_t sent, got;
    double started;
    char *in;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void die(const char *what) {
    perror(what);
    exit(2);
}

/* The length of a whole response in the buffer, 0 if it is not whole yet. */
static size_t whole(const struct connection *c) {
    char *end = memmem(c->in, c->got, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = end - c->in + 4, length = 0;
    for (char *line = c->in; line < end; line = (char *)memchr(line, '\n', end - line + 2) + 1) {
        if (!strncasecmp(line, "content-length:", 15)) length = strtoul(line + 15, NULL, 10);
        if (!memchr(line, '\n', end - line)) break;
    }
    return c->got >= head + length ? head + length : 0;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: load SOCKET REQUEST_FILE CONNECTIONS REQUESTS\n");
        return 2;
    }
    static char request[BUFFER];
    FILE *file = fopen(argv[2], "rb");
    if (!file) die(argv[2]);
    size_t size = fread(request, 1, sizeof request, file);
    fclose(file);
    int connections = atoi(argv[3]);
    long total = atol(argv[4]), begun = 0, done = 0, ok = 0;
    double *took = calloc(total, sizeof *took);
    struct connection *all = calloc(connections, sizeof *all);
    int poll = epoll_create1(0);
    if (poll < 0 || !took || !all) die("setup");

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    double start = now();
    for (int i = 0; i < connections && begun < total; i++) {
        struct connection *c = &all[i];
        c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
        c->in = malloc(BUFFER);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) die("connect");
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll");
        c->started = now();
        if (write(c->fd, request, size) != (ssize_t)size) die("write");
        begun++;
    }
    struct epoll_event events[64];
    while (done < total) {
        int n = epoll_wait(poll, events, 64, 10000);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) continue;
            fprintf(stderr, "no answer for 10 s\n");
            return 1;
        }
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            ssize_t got = read(c->fd, c->in + c->got, BUFFER - c->got);
            if (got <= 0) die("the service closed a connection");
            c->got += got;
            size_t length = whole(c);
            if (!length) continue;
            took[done++] = now() - c->started;
            ok += !strncmp(c->in + 8, " 200", 4) && memmem(c->in, length, "\"decision\":\"ALLOW\"", 18) != NULL;
            memmove(c->in, c->in + length, c->got -= length);
            if (begun < total) {
                c->started = now();
                if (write(c->fd, request, size) != (ssize_t)size) die("write");
                begun++;
            }
        }
    }
    double seconds = now() - start;
    qsort(took, done, sizeof *took, by_value);
    printf("{\"ok\":%ld,\"failed\":%ld,\"seconds\":%.4f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", ok, done - ok, seconds,
           took[done / 2] * 1e6, took[done * 99 / 100] * 1e6);
    return 0;
}
