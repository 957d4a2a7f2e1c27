// The name of an error: what its innermost cause is called by the system or by libcurl.
#pragma once

#include <curl/curl.h>

// The name of what ended a transfer. It lives as long as the program.
const char *cause_name(CURL *easy, CURLcode result);
