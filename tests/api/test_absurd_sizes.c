/* SPDX-License-Identifier: Apache-2.0 */
/* test_absurd_sizes.c - capacities for which there is no memory
 *
 * The tests run in a child process whose address space is small, so that nothing large is ever really
 * allocated. They do not run with sanitizers or valgrind, which need address space themselves. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static bool has_own_address_space(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return !BUILT_WITH_ASAN && !BUILT_WITH_TSAN && (preload == NULL || strstr(preload, "vgpreload") == NULL);
}

static int compare_nothing(const void *a, const void *b, void *context)
{
    (void)a;
    (void)b;
    (void)context;
    return 0;
}

/* What went wrong, as an exit status; 0: nothing. */
static int try_absurd_sizes(void)
{
    const struct rlimit limit = {1u << 30, 1u << 30};
    hora_queue *queue = (hora_queue *)untouched;

    alarm(30);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    if (hora_queue_new_array(INT_MAX, NULL, &queue, NULL) != HORA_ENOMEM || (void *)queue != untouched)
        return 2;
    if (hora_queue_new_priority(INT_MAX, HORA_QUEUE_OPTIONS(.compare = compare_nothing), &queue, NULL) !=
            HORA_ENOMEM ||
        (void *)queue != untouched)
        return 3;
    if (hora_queue_new_linked(INT_MAX, NULL, &queue, NULL) != 0 || hora_queue_offer(queue, untouched) != 0 ||
        hora_queue_free(queue) != 0)
        return 4;
    if (hora_queue_new_array(1, NULL, &queue, NULL) != 0 || hora_queue_offer(queue, untouched) != 0 ||
        hora_queue_free(queue) != 0)
        return 5;
    return 0;
}

TEST_REAL(capacities_beyond_the_memory_are_refused, "")
{
    int status = -1;
    pid_t child;

    if (!has_own_address_space())
        return;
    child = fork();
    if (child == 0)
        _exit(try_absurd_sizes());
    CHECK(child > 0);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
}
