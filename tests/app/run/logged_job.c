/* SPDX-License-Identifier: Apache-2.0 */
/* logged_job.c - the command of jobs whose every run is counted
 *
 *     logged_job LOG MILLISECONDS FAILURES
 *
 * Appends a line to LOG, works for a while, appends another line, and exits with 0; with 1 in the first FAILURES
 * attempts of a firing. A line is written with one call to a file that is open for appending. So lines of
 * processes that run at the same time do not mix, and the kill of a runner loses none that was written:
 *
 *     start JOB SCHEDULED ATTEMPT FENCE LIFE PID TIME_NS
 *     end   JOB SCHEDULED ATTEMPT FENCE LIFE PID TIME_NS STATUS
 *
 * The fields are separated by tabs. LIFE is the variable CHAOS_LIFE, which tells the starts of runners apart. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 1024, TROUBLE = 99, WORDS = 4 };

static long long now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : "-";
}

/* Appends a line; `status` is NULL or the last field. */
static void append(int log, const char *kind, long long time, const char *status)
{
    char line[LINE];
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%lld%s%s\n", kind,
                        variable("HORA_JOB"), variable("HORA_SCHEDULED"), variable("HORA_ATTEMPT"),
                        variable("HORA_FENCE"), variable("CHAOS_LIFE"), (int)getpid(), time,
                        status != NULL ? "\t" : "", status != NULL ? status : "");
    if (size < 0 || size >= LINE || write(log, line, (size_t)size) != size)
        exit(TROUBLE);
}

int main(int argc, char **argv)
{
    long long time = now_ns();
    if (argc != WORDS)
        return TROUBLE;
    int log = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log < 0)
        return TROUBLE;
    append(log, "start", time, NULL);
    (void)poll(NULL, 0, atoi(argv[2])); /* its work takes time, and nothing else */
    const char *status = atol(variable("HORA_ATTEMPT")) <= atol(argv[3]) ? "1" : "0";
    append(log, "end", now_ns(), status);
    return status[0] - '0';
}
