/* SPDX-License-Identifier: Apache-2.0 */
/* firing.c - from the store to the loop: the handlers of the durable scheduler
 *
 * A handler runs on a thread of the durable scheduler. It copies what the loop needs, detaches the run and
 * posts it. From then on the run belongs to the loop, which finishes it.
 *
 * When the lease is lost, the task cancelled or the scheduler stopped, the durable scheduler calls run_to_stop,
 * on a thread of its own, which posts a message. A run is freed by a message, too, which is posted after
 * hora_run_finish has returned; no message about the run can be behind it. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

struct stop_message {
    struct run *run;
    bool lost;
};

static void stop_arrived(void *arg)
{
    struct stop_message message = *(struct stop_message *)arg;
    free(arg);
    struct run *run = message.run;
    if (message.lost)
        run_stop(run, STOP_LOST);
    else if (run->runner->stopping)
        run_stop(run, STOP_SHUTDOWN);
    /* Otherwise its job was removed from the files: the run may end in peace. */
}

static void run_to_stop(const hora_run *store_run, void *arg)
{
    struct run *run = arg;
    struct stop_message *message = memory(sizeof *message);
    *message = (struct stop_message){run, hora_run_is_lost(store_run)};
    loop_post(run->runner->loop, stop_arrived, message);
}

static struct run *run_new(struct runner *runner, const hora_run *store_run, const char *job)
{
    struct run *run = memory(sizeof *run);
    *run = (struct run){.runner = runner,
                        .store_run = store_run,
                        .key = text_copy(store_run->key),
                        .id = run_id(job, store_run->planned),
                        .attempt = store_run->attempt,
                        .fence = store_run->fence,
                        .planned = store_run->planned,
                        .last_success = store_run->last_success,
                        .failures_in_a_row = store_run->failures_in_a_row,
                        .handed_back = store_run->handed_back,
                        .process = {.fd = -1},
                        .pipes = {-1, -1},
                        .cgroup = -1};
    return run;
}

static int hand_over(struct run *run)
{
    int error = hora_run_detach(run->store_run, run_to_stop, run);
    if (error < 0) {
        free(run->id);
        free(run->key);
        free(run->hook);
        free(run->input);
        free(run);
        return error;
    }
    loop_post(run->runner->loop, run_arrived, run);
    return 0;
}

int firing_job(const hora_run *store_run, void *arg)
{
    struct runner *runner = arg;
    return hand_over(run_new(runner, store_run, job_of_key(runner, store_run->key)));
}

/* The payload of a hook is an object with the name of the hook and the record of the run. */
int firing_hook(const hora_run *store_run, void *arg)
{
    struct runner *runner = arg;
    json_t *payload = json_loadb(store_run->payload, store_run->payload_size, 0, NULL);
    const char *hook = NULL;
    json_t *record = NULL;
    const char *job = NULL, *id = NULL;
    int wrong = payload == NULL ? -1
                                : json_unpack(payload, "{s:s, s:o, s:{s:s, s:s}}", "hook", &hook, "record",
                                              &record, "record", "job", &job, "run", &id);
    if (wrong != 0) {
        json_decref(payload);
        return CODE_NOT_STARTED;
    }
    struct run *run = run_new(runner, store_run, job);
    run->hook = text_copy(hook);
    free(run->id);
    run->id = text_format("%s+%s", id, hook);
    free(run->key);
    run->key = job_key(runner, job); /* that of the job, whose settings the hook shares */
    run->input = json_dumps(record, JSON_COMPACT);
    json_decref(payload);
    return hand_over(run);
}
