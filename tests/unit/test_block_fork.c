/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_fork.c - a child process returns blocks of its parent
 *
 * A thread of the parent may have held the lock of the source, so the child must not take it. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "sys/block.h"

enum { SIZE = 200, BATCH = 32, CHILDREN = 20, HANGS_AFTER_S = 20 };

static struct hora__block_source *source;

/* Gets and returns blocks until the word is 1, so that the lock is often held. */
static void churn(void *arg)
{
    struct hora__blocks blocks = {NULL, 0};
    while (__atomic_load_n((int *)arg, __ATOMIC_SEQ_CST) == 0) {
        hora__blocks_fill(&blocks, source, BATCH);
        hora__blocks_free(&blocks);
    }
}

TEST_REAL(blocks_of_the_parent_are_abandoned_in_a_child, "")
{
    struct hora__blocks blocks = {NULL, 0};
    int ends = 0;
    CHECK_OK(hora__block_source_new(SIZE, &source));
    hora__blocks_fill(&blocks, source, BATCH);
    test_thread *thread = test_thread_start(NULL, churn, &ends);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            (void)alarm(HANGS_AFTER_S); /* ends a child that waits for ever */
            hora__blocks_free(&blocks);
            _exit(blocks.count);
        }
        int status = -1;
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(status, 0);
    }
    __atomic_store_n(&ends, 1, __ATOMIC_SEQ_CST);
    test_thread_join(thread);
    hora__blocks_free(&blocks);
    hora__block_source_close(source);
}
