// Fetches the URLs of stdin with libcurl's multi interface and prints one CSV line a URL.
#include <curl/curl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cause.h"
#include "lines.h"
#include "settings.h"

// How long an idle connection, and the address of a name, wait for the next URL of their host: a crawl rarely returns to one.
static const long IDLE_SECONDS = 1;
static const long REDIRECT_LIMIT = 10;
// The longest wait for an event; libcurl wakes up earlier for its own timeouts.
static const int POLL_MS = 1000;

// A slot: one URL at a time, always with the same easy handle.
typedef struct {
    CURL *easy;
    char *line;
    struct timespec start_time;
    struct timespec start; // monotonic
    size_t body_length;
    bool check_json;
    char *content; // only when it is checked
} Slot;

static void fail(const char *what)
{
    fprintf(stderr, "c-libcurl-multi: %s\n", what);
    _exit(1);
}

static size_t take_content(char *bytes, size_t size, size_t count, void *pointer)
{
    Slot *slot = pointer;
    size_t length = size * count;
    if (slot->check_json) {
        char *content = realloc(slot->content, slot->body_length + length);
        if (content == NULL)
            return 0;
        memcpy(content + slot->body_length, bytes, length);
        slot->content = content;
    }
    slot->body_length += length;
    return length;
}

static bool is_expected(const Slot *slot)
{
    json_t *root = json_loadb(slot->content != NULL ? slot->content : "", slot->body_length, 0, NULL);
    bool expected = json_number_value(json_object_get(json_array_get(root, 0), "numbers")) == 123123;
    json_decref(root);
    return expected;
}

static CURL *new_easy(Slot *slot, const Settings *settings)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        fail("no memory for a handle");
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_content);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, settings->request_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, settings->http_version);
    if (strcmp(settings->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (strcmp(settings->method, "GET") != 0) {
        if (settings->body != NULL || strcmp(settings->method, "POST") == 0)
            curl_easy_setopt(easy, CURLOPT_POSTFIELDS, settings->body != NULL ? settings->body : "");
        // Content alone is a POST: then libcurl chooses the method after a redirect.
        if (strcmp(settings->method, "POST") != 0)
            curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, settings->method);
    }
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); // all codings that this libcurl decodes
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECT_LIMIT);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // The lookup of a name cannot be interrupted: without this, abandoning one waits for its thread, and so do all
    // slots.
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    // Without a folder of certificates, libcurl reads the bundle once, and not for each connection.
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_SECONDS);
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, IDLE_SECONDS);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)!settings->keepalive);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, (long)!settings->keepalive);
    return easy;
}

// The URL of a line, blanks around it cut off; NULL if it is not an absolute http or https URL: libcurl would guess a scheme.
static char *url_of(const char *line)
{
    static const char blanks[] = " \t\v\f\r";
    line += strspn(line, blanks);
    size_t length = strlen(line);
    while (length > 0 && strchr(blanks, line[length - 1]) != NULL)
        length--;
    size_t scheme = strncasecmp(line, "http://", 7) == 0 ? 7 : strncasecmp(line, "https://", 8) == 0 ? 8 : 0;
    if (scheme == 0 || scheme >= length || strchr("/?#", line[scheme]) != NULL || strcspn(line, blanks) < length)
        return NULL;
    return strndup(line, length);
}

static void print_row(Slot *slot, const char *code, size_t body_length)
{
    struct timespec now;
    struct tm date;
    char seconds[32];
    clock_gettime(CLOCK_MONOTONIC, &now);
    double duration_ms = (double)(now.tv_sec - slot->start.tv_sec) * 1e3 + (double)(now.tv_nsec - slot->start.tv_nsec) / 1e6;
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", gmtime_r(&slot->start_time.tv_sec, &date));
    printf("%s,%s,%s.%06ldZ,%.3f,%zu\n", slot->line, code, seconds, slot->start_time.tv_nsec / 1000, duration_ms, body_length);
    if (fflush(stdout) != 0)
        _exit(1); // the reader closed the pipe
    free(slot->line);
    free(slot->content);
    slot->line = NULL;
    slot->content = NULL;
}

// Gives a slot its next line. True if a transfer has begun; a line that is not a URL gets its row at once.
static bool begin(CURLM *multi, Slot *slot, char *line)
{
    slot->line = line;
    slot->body_length = 0;
    clock_gettime(CLOCK_REALTIME, &slot->start_time);
    clock_gettime(CLOCK_MONOTONIC, &slot->start);
    char *url = url_of(line);
    if (url == NULL) {
        print_row(slot, "InvalidURL", 0);
        return false;
    }
    curl_easy_setopt(slot->easy, CURLOPT_URL, url); // libcurl keeps a copy
    free(url);
    if (curl_multi_add_handle(multi, slot->easy) != CURLM_OK)
        fail("curl_multi_add_handle failed");
    return true;
}

static void finish(Slot *slot, CURLcode result, const Settings *settings)
{
    char status[16];
    long number = 0, http_version = 0;
    if (result != CURLE_OK) {
        print_row(slot, cause_name(slot->easy, result), 0);
        return;
    }
    curl_easy_getinfo(slot->easy, CURLINFO_HTTP_VERSION, &http_version);
    if (settings->http_version == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE && http_version != CURL_HTTP_VERSION_2_0) {
        print_row(slot, "NotHTTP2", 0); // over TLS, libcurl falls back to the server's version
        return;
    }
    if (slot->check_json && !is_expected(slot)) {
        print_row(slot, "CheckFailed", slot->body_length);
        return;
    }
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &number);
    snprintf(status, sizeof status, "%ld", number);
    print_row(slot, status, slot->body_length);
}

static void crawl(CURLM *multi, Slot **idle, const Settings *settings)
{
    Lines lines = {0};
    long idle_count = settings->concurrency;
    while (!lines.at_end || idle_count < settings->concurrency || lines.begin < lines.end) {
        char *line;
        int running, left;
        while (idle_count > 0 && (line = lines_next(&lines)) != NULL) {
            if (begin(multi, idle[idle_count - 1], line))
                idle_count--;
        }
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            fail("curl_multi_perform failed");
        long idle_before = idle_count;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
            Slot *slot;
            CURLcode result = message->data.result; // the message ends with the removal
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
            curl_multi_remove_handle(multi, slot->easy);
            finish(slot, result, settings);
            idle[idle_count++] = slot;
        }
        if (idle_count > idle_before && lines.begin < lines.end)
            continue; // slots are free: perhaps there is a line for them
        // stdin is read when a slot is free for its next line.
        struct curl_waitfd input = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
        unsigned inputs = !lines.at_end && idle_count > 0;
        if ((inputs || running > 0) && curl_multi_poll(multi, &input, inputs, POLL_MS, NULL) != CURLM_OK)
            fail("curl_multi_poll failed");
        if (inputs && input.revents != 0 && !lines_read(&lines, STDIN_FILENO))
            fail("stdin cannot be read");
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "--version") == 0) {
        puts(curl_version_info(CURLVERSION_NOW)->version);
        return 0;
    }
    Settings settings = read_settings();
    // An open connection is a descriptor, and the usual soft limit is 1024.
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    // Writing to a connection that the peer has closed is an error of that transfer, and must not end the program.
    signal(SIGPIPE, SIG_IGN);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        fail("curl_global_init failed");
    CURLM *multi = curl_multi_init();
    Slot *slots = calloc((size_t)settings.concurrency, sizeof *slots);
    Slot **idle = calloc((size_t)settings.concurrency, sizeof(Slot *));
    if (multi == NULL || slots == NULL || idle == NULL)
        fail("no memory");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, settings.concurrency); // libcurl's own is four times as many
    for (long number = 0; number < settings.concurrency; number++) {
        slots[number].check_json = settings.check_json;
        slots[number].easy = new_easy(&slots[number], &settings);
        idle[number] = &slots[number];
    }
    crawl(multi, idle, &settings);
    // Cleaning up would wait for abandoned name lookups.
    _exit(0);
}
