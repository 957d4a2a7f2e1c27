// The lines of a file descriptor, without blocking.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *bytes;
    size_t begin;    // of the lines not yet taken
    size_t searched; // the search for a line feed begins here
    size_t end;
    size_t capacity;
    bool at_end; // at the end of the input
} Lines;

// Reads once, up to 64 KiB; waits when there is nothing to read yet. False when reading fails.
bool lines_read(Lines *lines, int descriptor);

// The next line that is not empty, without its line end, in memory that the caller frees; NULL if more input must be
// read first.
char *lines_next(Lines *lines);
