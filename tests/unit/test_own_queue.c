/* SPDX-License-Identifier: Apache-2.0 */
/* test_own_queue.c - the own queue of a worker: order, a full segment, forms, removal, and memory */
#include "exec/own_queue.h"

#include <string.h>

#include "exec/backlog.h"
#include "exec/worker.h"
#include "harness.h"
#include "sync/thread.h"

enum { VALUES = 1000, FORMS = 200 };

static hora_queue *queue;
static struct hora__books books;
static struct hora__worker worker; /* the main thread, which has the first own queue */
static hora__atomic gate;
static int values[VALUES];
static bool seen[VALUES];

static void begin(void)
{
    hora_thread *thread;
    memset(&books, 0, sizeof books);
    memset(&worker, 0, sizeof worker);
    memset(seen, 0, sizeof seen);
    hora__atomic_init(&gate, 0);
    CHECK_OK(hora__backlog_new(HORA_UNBOUNDED, 2, NULL, &queue));
    hora__backlog_open_books(queue, &books);
    hora__backlog_begin_owning(queue, &worker.hold);
    CHECK_OK(hora__thread_current(&thread));
    thread->worker = &worker;
}

static void end(void)
{
    hora__thread_existing()->worker = NULL;
    hora__work_leave(queue, &worker.hold, &books);
    hora__backlog_end_owning(queue, &worker.hold);
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static void offer_item(int i)
{
    CHECK_OK(
        hora__work_kind_of(queue)->offer(queue, &(struct hora__offer){.item = &values[i], .books = &books}));
}

static void offer_task(int i, int line, int64_t came)
{
    hora_task task = {.run = run, .arg = &values[i], .line = line};
    CHECK_OK(hora__work_kind_of(queue)->offer(
        queue, &(struct hora__offer){.task = &task, .control = &gate, .closed = 1, .came = came}));
}

/* Takes the next task as a worker does, or returns -1. */
static int next(struct hora__hold *hold, struct hora__taken *cell)
{
    void *item = hora__work_next(queue, hold, cell, &books);
    if (item == NULL)
        return -1;
    hold->finished++;
    const int *value = item == cell ? cell->task.arg : item;
    int number = (int)(value - values);
    CHECK(!seen[number]);
    seen[number] = true;
    return number;
}

static void take_all(struct hora__hold *hold, int count)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    for (int i = 0; i < count; i++)
        CHECK(next(hold, &cell) >= 0);
    CHECK_INT(next(hold, &cell), -1);
}

TEST_REAL(own_queue_gives_the_newest_first, "")
{
    struct hora__taken cell = {.now = HORA_NEVER};
    begin();
    for (int i = 0; i < HORA__SLOTS; i++)
        i % 3 == 0 ? offer_item(i) : offer_task(i, i % 5, 0);
    CHECK_INT(hora__own_size(worker.hold.own), HORA__SLOTS);
    for (int i = HORA__SLOTS - 1; i >= 0; i--)
        CHECK_INT(next(&worker.hold, &cell), i);
    CHECK_INT(next(&worker.hold, &cell), -1);
    end();
}

/* A worker without tasks steals half, the oldest ones, and takes them in their order. */
TEST_REAL(own_queue_is_stolen_from_at_its_old_end, "")
{
    struct hora__hold thief = {.segment = NULL};
    struct hora__taken cell = {.now = HORA_NEVER};
    begin();
    for (int i = 0; i < 10; i++)
        offer_task(i, 1, 0);
    for (int i = 0; i < 5; i++)
        CHECK_INT(next(&thief, &cell), i);
    CHECK_INT(hora__own_size(worker.hold.own), 5);
    for (int i = 9; i > 5; i--)
        CHECK_INT(next(&worker.hold, &cell), i);
    CHECK_INT(next(&thief, &cell), 5);
    CHECK_INT(next(&thief, &cell), -1);
    CHECK_INT(next(&worker.hold, &cell), -1);
    hora__work_leave(queue, &thief, &books);
    end();
    CHECK_INT(hora__counter_read(&books.finished), 10);
}

/* A full own queue goes to the shared queue as a whole, and none of its tasks is lost. */
TEST_REAL(own_queue_that_is_full_moves_to_the_shared_queue, "")
{
    begin();
    for (int i = 0; i < VALUES; i++)
        i % 2 == 0 ? offer_item(i) : offer_task(i, 1, 0);
    CHECK(hora__own_size(worker.hold.own) <= HORA__SLOTS);
    CHECK_INT(hora__books_accepted(&books), VALUES);
    CHECK_INT(hora__queue_count(queue), VALUES);
    CHECK_INT(hora__own_size(worker.hold.own), 0);
    take_all(&worker.hold, VALUES);
    end();
}

/* Stealing leaves room at the beginning, which is used before anything moves. */
TEST_REAL(own_queue_uses_the_room_that_was_stolen_from, "")
{
    struct hora__hold thief = {.segment = NULL};
    struct hora__taken cell = {.now = HORA_NEVER};
    begin();
    int given = 0;
    for (; given < HORA__SLOTS; given++)
        offer_task(given, given % 7, 0);
    for (int i = 0; i < HORA__SLOTS / 2 + HORA__SLOTS / 4; i++)
        CHECK_INT(next(&thief, &cell), i);
    int left = hora__own_size(worker.hold.own);
    for (; given < HORA__SLOTS + HORA__SLOTS / 4; given++)
        offer_task(given, given % 7, 0);
    CHECK_INT(hora__own_size(worker.hold.own), left + HORA__SLOTS / 4);
    for (int i = given - 1; i >= HORA__SLOTS; i--)
        CHECK_INT(next(&worker.hold, &cell), i);
    hora__work_leave(queue, &thief, &books);
    take_all(&worker.hold, HORA__SLOTS / 4);
    end();
}

/* Tasks of many forms keep their own, and their stamps, wherever they move. */
TEST_REAL(own_queue_keeps_forms_and_stamps, "")
{
    struct hora__hold thief = {.segment = NULL};
    struct hora__taken cell = {.now = HORA_NEVER};
    begin();
    for (int round = 0; round < 3; round++) {
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < FORMS; i++)
            offer_task(i, 1000 + i, i % 2 == 0 ? 7000 + i : 0);
        if (round == 1)
            CHECK_INT(hora__queue_count(queue), FORMS);
        for (int i = 0; i < FORMS; i++) {
            int number = next(i % 2 == 0 ? &thief : &worker.hold, &cell);
            CHECK(number >= 0);
            CHECK_INT(cell.task.line, 1000 + number);
            CHECK_INT(cell.came, number % 2 == 0 ? 7000 + number : 0);
        }
    }
    hora__work_leave(queue, &thief, &books);
    end();
}

TEST_REAL(own_queue_removes_any_element, "")
{
    struct hora__taken cell = {.now = HORA_NEVER};
    static const int removed[] = {9, 0, 4, 6};
    begin();
    for (int i = 0; i < 10; i++)
        i == 5 ? offer_task(i, 1, 77) : offer_item(i);
    for (int i = 0; i < 4; i++) {
        CHECK(hora__own_remove(worker.hold.own, &values[removed[i]]));
        CHECK(!hora__own_remove(worker.hold.own, &values[removed[i]]));
    }
    CHECK(!hora__own_remove(worker.hold.own, &values[5])); /* a detached task is no element */
    static const int left[] = {8, 7, 5, 3, 2, 1};
    for (int i = 0; i < 6; i++)
        CHECK_INT(next(&worker.hold, &cell), left[i]);
    CHECK_INT(cell.came, 77); /* of the detached task; elements have no stamp */
    CHECK(!hora__own_remove(worker.hold.own, &values[1]));
    end();
}

/* Each worker gets an own queue that no other has, as long as there are enough. */
TEST_REAL(own_queues_are_shared_evenly, "")
{
    struct hora__hold holds[4] = {{.segment = NULL}};
    begin();
    for (int i = 0; i < 3; i++)
        hora__backlog_begin_owning(queue, &holds[i]);
    CHECK(holds[0].own != worker.hold.own);
    CHECK(holds[1].own != holds[2].own);
    for (int i = 0; i < 3; i++)
        hora__backlog_end_owning(queue, &holds[i]);
    hora__backlog_begin_owning(queue, &holds[3]);
    CHECK(holds[3].own != worker.hold.own);
    hora__backlog_end_owning(queue, &holds[3]);
    end();
}
