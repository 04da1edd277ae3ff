/* SPDX-License-Identifier: Apache-2.0 */
/* steering.c - admission control: one pool for tasks of many kinds
 *
 * It shows classes with a limit, a reserve and a rate, keys, and priorities. Time is virtual, so the program
 * runs instantly and always prints the same. Each task takes some seconds and records when it started and
 * ended. */
#include <stdio.h>

#include <hora/hora.h>

enum { MOST = 8 };

static hora_virtual_clock *time_machine;
static const hora_clock *now;
static hora_pool *pool;
static hora_ns zero; /* the time at which the current part of the demonstration started */

static struct job {
    const char *name;
    int lasts; /* in seconds */
    hora_ns began;
    hora_ns ended;
} jobs[MOST];
static int job_count;
static int faults;

static int work(void *arg, void **ret_result)
{
    struct job *job = arg;
    (void)ret_result;
    job->began = hora_clock_now(now) - zero;
    int error = hora_clock_sleep(now, HORA_SECONDS(job->lasts));
    job->ended = hora_clock_now(now) - zero;
    return error;
}

static void submit(const char *name, int lasts, const hora_task_options *options)
{
    struct job *job = &jobs[job_count++];
    *job = (struct job){.name = name, .lasts = lasts};
    faults += hora_pool_submit_with(pool, HORA_TASK(work, job, .name = name), options, NULL, NULL) < 0;
}

static void pass(int seconds)
{
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(seconds)) < 0;
}

static hora_class *make_class(const hora_class_options *options)
{
    hora_class *made = NULL;
    hora_error error;
    if (hora_class_new(pool, options, &made, &error) < 0) {
        printf("%s: %s\n", options->name, error.message);
        faults++;
    }
    return made;
}

static void begin_scene(const char *title, int threads, hora_ns ageing)
{
    printf("%s\n", title);
    job_count = 0;
    zero = hora_clock_now(now);
    const hora_admission *admission = HORA_ADMISSION(.ageing = ageing);
    faults += hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads, .clock = now, .admission = admission),
                            &pool, NULL) < 0;
}

static void end_scene(void)
{
    pass(60);
    for (int i = 0; i < job_count; i++)
        printf("  %-22s %2d s to %2d s\n", jobs[i].name, (int)(jobs[i].began / HORA_SECONDS(1)),
               (int)(jobs[i].ended / HORA_SECONDS(1)));
    faults += hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}

static void show_limit_and_reserve(void)
{
    begin_scene("two reports at a time, and a thread that is kept for questions", 4, 0);
    hora_class *reports = make_class(HORA_CLASS_OPTIONS(.name = "reports", .limit = 2));
    hora_class *questions = make_class(HORA_CLASS_OPTIONS(.name = "questions", .reserve = 1));
    submit("report 1", 4, HORA_TASK_OPTIONS(.task_class = reports));
    submit("report 2", 4, HORA_TASK_OPTIONS(.task_class = reports));
    submit("report 3", 4, HORA_TASK_OPTIONS(.task_class = reports));
    submit("something else", 3, HORA_TASK_OPTIONS(.task_class = NULL));
    submit("something else again", 3, HORA_TASK_OPTIONS(.task_class = NULL));
    pass(1);
    submit("question", 1, HORA_TASK_OPTIONS(.task_class = questions));
    end_scene();
}

static void show_rate(void)
{
    begin_scene("two mails in ten seconds", 4, 0);
    hora_class *mails = make_class(HORA_CLASS_OPTIONS(.name = "mails", .rate = 2, .per = HORA_SECONDS(10)));
    submit("mail 1", 1, HORA_TASK_OPTIONS(.task_class = mails));
    submit("mail 2", 1, HORA_TASK_OPTIONS(.task_class = mails));
    submit("mail 3", 1, HORA_TASK_OPTIONS(.task_class = mails));
    submit("mail 4", 1, HORA_TASK_OPTIONS(.task_class = mails));
    submit("mail 5", 1, HORA_TASK_OPTIONS(.task_class = mails));
    end_scene();
}

static void show_keys(void)
{
    begin_scene("one thing after the other for each customer", 4, 0);
    submit("Ann orders", 3, HORA_TASK_OPTIONS(.key = hora_key_of("Ann")));
    submit("Ann changes her order", 1, HORA_TASK_OPTIONS(.key = hora_key_of("Ann")));
    submit("Ann pays", 1, HORA_TASK_OPTIONS(.key = hora_key_of("Ann")));
    submit("Bob orders", 2, HORA_TASK_OPTIONS(.key = hora_key_of("Bob")));
    submit("Bob pays", 1, HORA_TASK_OPTIONS(.key = hora_key_of("Bob")));
    end_scene();
}

static void show_priorities(void)
{
    begin_scene("a level of priority is worth ten seconds of waiting", 1, HORA_SECONDS(10));
    submit("the one that runs", 4, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    submit("backup, low", 4, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_LOW));
    pass(1);
    submit("page", 4, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    pass(2);
    submit("alarm, urgent", 4, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_URGENT));
    pass(8);
    submit("page at 11 s", 4, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    end_scene();
}

int main(void)
{
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    now = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    show_limit_and_reserve();
    show_rate();
    show_keys();
    show_priorities();
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
