// The adapter's settings, read from the environment.
#include "settings.h"

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The value of a variable; an empty one counts as missing.
static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static _Noreturn void refuse(const char *name, const char *wanted, const char *found)
{
    fprintf(stderr, "c-libcurl-multi: %s must be %s, not \"%s\"\n", name, wanted, found);
    exit(127);
}

static long concurrency(void)
{
    const char *text = variable("CONCURRENCY", "10");
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < 1 || number > INT_MAX)
        refuse("CONCURRENCY", "a whole number from 1", text);
    return number;
}

static long request_timeout_ms(void)
{
    const char *text = variable("REQUEST_TIMEOUT", "5");
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || seconds * 1000 > INT_MAX)
        refuse("REQUEST_TIMEOUT", "a number of seconds above 0", text);
    return (long)ceil(seconds * 1000); // 0 would disable the timeout
}

static const char *method(void)
{
    const char *text = variable("METHOD", "GET");
    const char *letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-!#$%&'*+.^_`|~";
    if (text[strspn(text, letters)] != '\0')
        refuse("METHOD", "a token such as POST", text);
    return text;
}

// libcurl sends no content with GET and HEAD.
static const char *body(void)
{
    const char *text = variable("BODY", NULL);
    if (text != NULL && (strcmp(method(), "GET") == 0 || strcmp(method(), "HEAD") == 0))
        refuse("BODY", "empty with METHOD=GET and METHOD=HEAD", text);
    return text;
}

static bool keepalive(void)
{
    const char *text = variable("KEEPALIVE", "1");
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        refuse("KEEPALIVE", "0 or 1", text);
    return *text == '1';
}

static bool check_json(void)
{
    const char *text = variable("CHECK", "");
    if (*text != '\0' && strcmp(text, "json") != 0)
        refuse("CHECK", "empty or json", text);
    return *text != '\0';
}

static long http_version(void)
{
    const char *text = variable("HTTP_VERSION", "");
    if (*text == '\0')
        return CURL_HTTP_VERSION_NONE;
    if (strcmp(text, "1.1") == 0)
        return CURL_HTTP_VERSION_1_1;
    if (strcmp(text, "2") == 0)
        return CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    refuse("HTTP_VERSION", "empty, 1.1 or 2", text);
}

Settings read_settings(void)
{
    return (Settings){
        .concurrency = concurrency(),
        .request_timeout_ms = request_timeout_ms(),
        .user_agent = variable("USER_AGENT", NULL),
        .method = method(),
        .body = body(),
        .keepalive = keepalive(),
        .check_json = check_json(),
        .http_version = http_version(),
    };
}
