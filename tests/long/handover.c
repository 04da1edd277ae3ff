/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - who owns a task if its pool is shut down or stopped while sixteen threads submit
 *
 *     hora-handover POOLS [CONFIGURATION]
 *
 * What happens    Sixteen threads execute tasks on one pool, each of which executes another one, while a
 *                 thread ends the pool, by shutdown and by stop in turn. The tasks that tasks execute get the
 *                 memory of tasks that have just ended. This is done with POOLS pools of each configuration:
 *                 with a hook, with a bounded queue, with a linked and an array queue of the user, with
 *                 admission, and a plain one.
 * What must hold  Each task has its own record. If the call returned 0, the task has run or was handed back,
 *                 but not both, and drop(arg) was called once. If it returned an error, the task neither ran
 *                 nor was dropped.
 * Output          A line for each configuration: how many tasks were accepted and rejected, how many of the
 *                 accepted ones are lost, and how many of the rejected ones have two owners. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

enum { SUBMITTERS = 16, TASKS = 200, WORKERS = 2, CAPACITY = 1000 };

struct record {
    atomic_int runs;
    atomic_int drops;
    bool is_called; /* the call was made */
    int answer;     /* what it returned */
};

static struct {
    struct record of_submitters[SUBMITTERS][TASKS];
    struct record of_tasks[SUBMITTERS][TASKS];
} records;
static pthread_t threads[SUBMITTERS];
static pthread_barrier_t start;
static pthread_barrier_t end;
static hora_pool *pool;
static hora_future_list handed_back;
static bool stops;    /* else it is shut down, */
static int ends_with; /* by the thread that makes the call with this number */
static atomic_int calls;
static atomic_bool is_over;

struct totals {
    long accepted;
    long refused;
    long handed_back;
    long lost;      /* accepted, and not dropped once; or neither run nor handed back */
    long two_owner; /* refused, and run or dropped all the same */
};

static void must(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, hora_strerror(error));
    exit(1);
}

/* ---- tasks ---- */

static void drop(void *arg)
{
    ((struct record *)arg)->drops++;
}

static int run(void *arg, void **ret_result)
{
    (void)ret_result;
    ((struct record *)arg)->runs++;
    return 0;
}

static void execute(struct record *record, hora_run_fn body)
{
    record->is_called = true;
    record->answer = hora_pool_execute(pool, HORA_TASK(body, record, .drop = drop));
    if (calls++ == ends_with)
        must(stops ? hora_pool_shutdown_now(pool, &handed_back) : hora_pool_shutdown(pool),
             "the end of the pool");
}

static int run_and_execute(void *arg, void **ret_result)
{
    struct record *own = arg;
    execute(own + (&records.of_tasks[0][0] - &records.of_submitters[0][0]), run);
    return run(own, ret_result);
}

static void after(hora_pool *own, const hora_run_info *info, void *context)
{
    (void)own;
    (void)info;
    (void)context;
}

static void *submit(void *arg)
{
    struct record *own = arg;
    for (;;) {
        (void)pthread_barrier_wait(&start);
        if (is_over)
            return NULL;
        for (int i = 0; i < TASKS; i++)
            execute(&own[i], run_and_execute);
        (void)pthread_barrier_wait(&end);
    }
}

/* ---- one pool ---- */

/* How many of those that were handed back it accounts for. */
static long count(struct totals *totals, const struct record *record)
{
    bool accepted = record->is_called && record->answer == 0;
    bool is_right = record->runs <= accepted && record->drops == accepted;
    totals->accepted += accepted;
    totals->refused += record->is_called && !accepted;
    totals->lost += accepted && !is_right;
    totals->two_owner += !accepted && !is_right;
    return accepted && is_right && record->runs == 0;
}

static void count_all(struct totals *totals, long left)
{
    totals->handed_back += left;
    for (int i = 0; i < SUBMITTERS; i++)
        for (int j = 0; j < TASKS; j++)
            left -= count(totals, &records.of_submitters[i][j]) + count(totals, &records.of_tasks[i][j]);
    totals->lost += labs(left);
}

static void use_pool(const hora_pool_options *options, struct totals *totals)
{
    hora_error reason;
    memset(&records, 0, sizeof records);
    handed_back = (hora_future_list)HORA_FUTURE_LIST_INIT;
    ends_with = SUBMITTERS * TASKS / 2 + rand() % (SUBMITTERS * TASKS / 2);
    calls = 0;
    must(hora_pool_new(options, &pool, &reason), reason.message);
    (void)pthread_barrier_wait(&start);
    (void)pthread_barrier_wait(&end);
    must(hora_pool_await_termination_for(pool, HORA_FOREVER), "await_termination");
    long left = handed_back.count;
    hora_future_list_cancel(&handed_back);
    must(hora_pool_free(pool), "hora_pool_free");
    count_all(totals, left);
}

/* ---- configurations ---- */

static const char *const names[] = {"hook", "bounded", "linked", "array", "admission", "plain"};
enum configuration { HOOK, BOUNDED, LINKED, ARRAY, ADMISSION, PLAIN, CONFIGURATIONS };

static void use_configuration(enum configuration what, struct totals *totals)
{
    hora_pool_options options = HORA_INIT(hora_pool_options);
    options.core_threads = WORKERS;
    if (what == HOOK)
        options.after = after;
    else if (what == BOUNDED)
        options.queue_capacity = CAPACITY;
    else if (what == LINKED)
        must(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &options.queue, NULL), "hora_queue_new_linked");
    else if (what == ARRAY)
        must(hora_queue_new_array(2 * SUBMITTERS * TASKS, NULL, &options.queue, NULL),
             "hora_queue_new_array");
    options.admission = what == ADMISSION ? HORA_ADMISSION() : NULL;
    use_pool(&options, totals);
    if (options.queue != NULL)
        must(hora_queue_free(options.queue), "hora_queue_free");
}

/* True if everything is right. */
static bool try_configuration(enum configuration what, long pools)
{
    struct totals totals = {0};
    for (long i = 0; i < pools; i++) {
        stops = i % 2 != 0;
        use_configuration(what, &totals);
    }
    printf("%-8s %ld pools x %d submitters: %ld accepted (%ld handed back), %ld refused; %ld lost, %ld with "
           "two owners\n",
           names[what], pools, SUBMITTERS, totals.accepted, totals.handed_back, totals.refused, totals.lost,
           totals.two_owner);
    (void)fflush(stdout);
    return totals.lost == 0 && totals.two_owner == 0;
}

int main(int argument_count, char **arguments)
{
    long pools = argument_count > 1 ? strtol(arguments[1], NULL, 10) : 0;
    if (pools <= 0 || argument_count > 3) {
        fprintf(stderr, "usage: hora-handover POOLS [hook|bounded|linked|array|admission|plain]\n");
        return 2;
    }
    bool is_right = true;
    (void)pthread_barrier_init(&start, NULL, SUBMITTERS + 1);
    (void)pthread_barrier_init(&end, NULL, SUBMITTERS + 1);
    for (int i = 0; i < SUBMITTERS; i++)
        must(-pthread_create(&threads[i], NULL, submit, records.of_submitters[i]), "pthread_create");
    for (int what = 0; what < CONFIGURATIONS; what++)
        if (argument_count == 2 || strcmp(arguments[2], names[what]) == 0)
            is_right = try_configuration((enum configuration)what, pools) && is_right;
    is_over = true;
    (void)pthread_barrier_wait(&start);
    for (int i = 0; i < SUBMITTERS; i++)
        (void)pthread_join(threads[i], NULL);
    return is_right ? 0 : 1;
}
