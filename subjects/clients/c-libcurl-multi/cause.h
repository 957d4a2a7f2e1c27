// The name of an error: the system's or libcurl's name of its innermost cause.
#pragma once

#include <curl/curl.h>

// The name of the error that ended a transfer. It lives as long as the program.
const char *cause_name(CURL *easy, CURLcode result);
