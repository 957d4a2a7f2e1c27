// The adapter's settings, read from the environment.
#pragma once

#include <stdbool.h>

typedef struct {
    long concurrency;
    long request_timeout_ms;
    const char *user_agent; // NULL: sends no header, which is the default of libcurl
    const char *method;
    const char *body; // NULL: none
    bool keepalive;
    bool check_json;
    long http_version; // CURL_HTTP_VERSION_NONE (HTTP/2 where TLS negotiates it), _1_1 or _2_PRIOR_KNOWLEDGE
} Settings;

// Reads the settings; ends the program with status 127 and one line that names the variable if a value cannot be used.
Settings read_settings(void);
