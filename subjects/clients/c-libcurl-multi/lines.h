// The lines of a file descriptor, without ever waiting for one.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *bytes;
    size_t begin;    // of what has not been taken
    size_t searched; // from here on a line feed is looked for
    size_t end;
    size_t capacity;
    bool at_end; // nothing more can be read
} Lines;

// Reads once, up to 64 KiB; waits when there is nothing to read yet. False when reading fails.
bool lines_read(Lines *lines, int descriptor);

// The next line that is not empty, without its line end, in memory that the caller frees; NULL when more must be read first.
char *lines_next(Lines *lines);
