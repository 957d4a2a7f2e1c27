// The lines of a file descriptor, without blocking.
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

bool lines_read(Lines *lines, int descriptor)
{
    if (lines->begin > 0) {
        memmove(lines->bytes, lines->bytes + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->searched -= lines->begin;
        lines->begin = 0;
    }
    if (lines->capacity - lines->end < READ_BYTES) {
        size_t capacity = 2 * lines->capacity + READ_BYTES;
        char *bytes = realloc(lines->bytes, capacity);
        if (bytes == NULL)
            return false;
        lines->bytes = bytes;
        lines->capacity = capacity;
    }
    ssize_t count = read(descriptor, lines->bytes + lines->end, READ_BYTES);
    if (count < 0)
        return errno == EINTR || errno == EAGAIN;
    lines->at_end = count == 0;
    lines->end += (size_t)count;
    return true;
}

char *lines_next(Lines *lines)
{
    while (lines->begin < lines->end) {
        char *begin = lines->bytes + lines->begin;
        char *feed = memchr(lines->bytes + lines->searched, '\n', lines->end - lines->searched);
        lines->searched = lines->end;
        if (feed == NULL && !lines->at_end)
            return NULL;
        size_t length = feed == NULL ? lines->end - lines->begin : (size_t)(feed - begin);
        lines->begin += length + (feed != NULL);
        lines->searched = lines->begin;
        if (length > 0 && begin[length - 1] == '\r')
            length--;
        if (length > 0)
            return strndup(begin, length);
    }
    return NULL;
}
