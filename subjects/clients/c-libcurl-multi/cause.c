// The name of an error: the system's or libcurl's name of its innermost cause.
#include "cause.h"

#include <stdio.h>
#include <string.h>

#define NAME(code) \
    case code:     \
        return #code

const char *cause_name(CURL *easy, CURLcode result)
{
    static char number[32];
    long system_error = 0;
    const char *system_name = NULL;

    if (result == CURLE_COULDNT_CONNECT) {
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &system_error);
        if (system_error != 0)
            system_name = strerrorname_np((int)system_error);
        if (system_name != NULL)
            return system_name;
    }
    // The errors of a GET, from the table in libcurl-errors(3); an error without a name here is printed as its number.
    switch (result) {
        NAME(CURLE_UNSUPPORTED_PROTOCOL);
        NAME(CURLE_URL_MALFORMAT);
        NAME(CURLE_COULDNT_RESOLVE_PROXY);
        NAME(CURLE_COULDNT_RESOLVE_HOST);
        NAME(CURLE_COULDNT_CONNECT);
        NAME(CURLE_WEIRD_SERVER_REPLY);
        NAME(CURLE_HTTP2);
        NAME(CURLE_PARTIAL_FILE);
        NAME(CURLE_WRITE_ERROR);
        NAME(CURLE_OUT_OF_MEMORY);
        NAME(CURLE_OPERATION_TIMEDOUT);
        NAME(CURLE_SSL_CONNECT_ERROR);
        NAME(CURLE_TOO_MANY_REDIRECTS);
        NAME(CURLE_GOT_NOTHING);
        NAME(CURLE_SEND_ERROR);
        NAME(CURLE_RECV_ERROR);
        NAME(CURLE_PEER_FAILED_VERIFICATION);
        NAME(CURLE_BAD_CONTENT_ENCODING);
        NAME(CURLE_SSL_CACERT_BADFILE);
        NAME(CURLE_HTTP2_STREAM);
    default:
        snprintf(number, sizeof number, "CURLE_%d", result);
        return number;
    }
}
