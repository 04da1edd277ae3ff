/* SPDX-License-Identifier: Apache-2.0 */
/* started.h - a process of a test, with its output */
#ifndef TESTS_APP_STARTED_H
#define TESTS_APP_STARTED_H

#include "runner/process.h"

enum { OUTPUT_MOST = 16 * 1024, REASON_SIZE = 256 };

struct started {
    struct process process;
    int input;  /* write end of its standard input; -1: it has /dev/null */
    int output; /* read end of its standard output and error */
    char text[OUTPUT_MOST];
    size_t size;
    struct process_end end;
    int error; /* of process_start */
    char reason[REASON_SIZE];
};

/* Returns a spec that starts a program in the environment of the test. */
struct process_spec spec_of(const char *const *argv);

/* Starts a process with pipes. On failure, fills in error and reason and returns false. */
bool start(struct started *started, struct process_spec spec, bool with_input);
/* Reads the output until it ends, or has `size` bytes. */
void read_output(struct started *started, size_t size);
/* Waits for the end and collects the process. */
void await_end(struct started *started);
/* All of these. Returns the output. */
const char *run_to_end(struct started *started, struct process_spec spec);
/* Waits until a descriptor is readable or at its end. Returns false after 60 seconds. */
bool await_readable(int descriptor);
/* Kills a starter whose program prints its own number and waits. Checks that the program is killed too. */
void check_killed_with_runner(struct started *started);
int count_descriptors(void);

#define ARGV(...)              ((const char *const[]){__VA_ARGS__, NULL})
#define CHECK_TEXT(got, want)  check_text(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_FOUND(got, want) check_found(__FILE__, __LINE__, #got, (got), (want))
void check_text(const char *file, int line, const char *what, const char *got, const char *want);
/* Checks that a text contains another. */
void check_found(const char *file, int line, const char *what, const char *got, const char *want);

#endif
