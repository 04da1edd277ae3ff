/* SPDX-License-Identifier: Apache-2.0 */
/* fake_server.c - the control socket of a runner that is not one, for tests of the commands: fake_server PATH
 *
 * Prints "ready" when it listens, and ends after the request `stop`. */
#include <stdio.h>

#include "fake.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "Usage: fake_server PATH\n");
        return 2;
    }
    struct runner *runner = fake_runner_new(argv[1], &control_default_limits);
    if (runner == NULL)
        return 1;
    fake_runner_output(runner, "first line");
    fake_runner_output(runner, "second line");
    (void)puts("ready");
    (void)fflush(stdout);
    while (!fake_runner_is_stopped())
        (void)fake_loop_turn(runner->loop, -1);
    while (fake_loop_turn(runner->loop, 0))
        ;
    fake_runner_free(runner);
    return 0;
}
