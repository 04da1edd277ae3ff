/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - simulated event, timer and watch descriptors
 *
 * How it works      Each descriptor is a real pipe, so that a test can poll it, without waiting, and see what
 *                   a user would see. The simulator makes a timer readable when its clock passes the
 *                   deadline. The pipes are made once and used again in later runs, so a schedule that only
 *                   opens and closes descriptors makes no system call. A thread in hora__event_wait is
 *                   WAITING on the event's entry in the table, with the timer's deadline as its deadline and
 *                   the watch's entry as a second object that ends its wait.
 * Invariants        E1 entry->readable tells whether poll reports the descriptor as readable.
 *                   E2 entries of kind NONE are not readable. */
#include "sys/event.h"

#include <fcntl.h>
#include <unistd.h>

#include <hora/error.h>

#include "simulator/internal.h"

enum { MOST_DESCRIPTORS = 256 };

static struct entry {
    enum { NONE, EVENT, TIMER, WATCH } kind; /* NONE: not open */
    int fd;                                  /* the end that is polled */
    int write_fd;                            /* the other end of the pipe */
    bool readable;                           /* E1 */
    int64_t deadline_ns; /* TIMER: on the monotonic clock, moves with its timeline; INT64_MAX: never */
    enum hora__timeline timeline; /* TIMER */
} table[MOST_DESCRIPTORS];

static int made;  /* entries with a pipe */
static int alive; /* entries that are not NONE */

/* Makes a descriptor readable or not, by a byte in its pipe. Wakes no thread. */
static void set_readable(struct entry *entry, bool readable)
{
    if (entry->readable == readable)
        return;
    char byte = 0;
    SIM_ACQUIRE(&entry->write_fd);
    entry->readable = readable; /* E1 */
    if ((readable ? write(entry->write_fd, &byte, 1) : read(entry->fd, &byte, 1)) != 1)
        hora__sim_end(HORA__SIM_MISUSE, "descriptor %d was read, written or closed by the test", entry->fd);
}

/* Returns the entry of an open descriptor. `what` describes the call; the run ends if there is no such
 * entry. */
static struct entry *find(int fd, int kind, const char *what)
{
    for (int i = 0; i < made; i++)
        if (table[i].fd == fd && (int)table[i].kind == kind)
            return &table[i];
    hora__sim_end(HORA__SIM_MISUSE, "%s: %d is no such descriptor, or no longer", what, fd);
}

/* Makes the pipe of an entry. Returns false if the system has no descriptors left. */
static bool make_pipe(struct entry *entry)
{
    int ends[2];
    if (pipe(ends) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    entry->fd = ends[0];
    entry->write_fd = ends[1];
    SIM_RELEASE(&entry->write_fd); /* set_readable acquires it: every use happens after this */
    return true;
}

/* Finds or makes an entry that is not open; the caller sets its kind. Returns 0, HORA_ENOMEM or
 * HORA_EMFILE. */
static int take_entry(struct entry **ret_entry)
{
    if (hora__sim_allocation_fails())
        return HORA_ENOMEM;
    int i = 0;
    while (i < made && table[i].kind != NONE)
        i++;
    if (i == MOST_DESCRIPTORS)
        return HORA_EMFILE;
    if (i == made) {
        if (!make_pipe(&table[i]))
            return HORA_EMFILE;
        made++;
    }
    alive++;
    *ret_entry = &table[i];
    return 0;
}

/* Closes a descriptor for the library. The pipe stays open for the next user of the entry. */
static void release(struct entry *entry)
{
    if (hora__sim_waited_on(SIM_WAITING, entry))
        hora__sim_end(HORA__SIM_MISUSE, "a descriptor is closed while a thread waits on it");
    set_readable(entry, false); /* E2 */
    entry->kind = NONE;
    alive--;
}

/* Makes a descriptor readable and wakes all threads that wait on it. */
static void make_readable(struct entry *entry)
{
    set_readable(entry, true);
    while (hora__sim_waited_on(SIM_WAITING, entry))
        hora__sim_wake(hora__sim_waiter(SIM_WAITING, entry));
}

int hora__event_init(struct hora__event *event)
{
    struct entry *entry;
    int error = take_entry(&entry);
    if (error < 0)
        return error;
    entry->kind = EVENT;
    *event = (struct hora__event){entry->fd, entry->write_fd, false};
    return 0;
}

void hora__event_destroy(struct hora__event *event)
{
    if (event->fd >= 0)
        release(find(event->fd, EVENT, "destroying an event"));
    *event = HORA__EVENT_NONE;
}

void hora__event_set(struct hora__event *event, bool readable)
{
    if (event->fd < 0 || event->readable == readable)
        return;
    event->readable = readable;
    struct entry *entry = find(event->fd, EVENT, "setting an event");
    if (readable)
        make_readable(entry);
    else
        set_readable(entry, false);
}

void hora__event_signal(const struct hora__event *event)
{
    hora__sim_point();
    make_readable(find(event->fd, EVENT, "posting an event"));
    hora__sim_after();
}

void hora__event_consume(const struct hora__event *event)
{
    hora__sim_point();
    set_readable(find(event->fd, EVENT, "consuming an event"), false);
}

bool hora__event_wait(const struct hora__event *event, int timer_fd, int watch_fd)
{
    hora__sim_point();
    const struct entry *entry = find(event->fd, EVENT, "waiting on an event");
    const struct entry *timer = timer_fd < 0 ? NULL : find(timer_fd, TIMER, "waiting on a timer");
    const struct entry *watch = watch_fd < 0 ? NULL : find(watch_fd, WATCH, "waiting on a watch");
    if (!entry->readable && !(timer != NULL && timer->readable) && !(watch != NULL && watch->readable)) {
        hora__sim.current->watched = watch;
        hora__sim_sleep(SIM_WAITING, entry, timer != NULL ? timer->timeline : HORA__MONOTONIC,
                        timer != NULL ? timer->deadline_ns : INT64_MAX);
    }
    return watch != NULL && watch->readable;
}

int hora__timer_fd_new(enum hora__timeline timeline)
{
    struct entry *entry;
    int error = take_entry(&entry);
    if (error < 0)
        return error;
    entry->kind = TIMER;
    entry->deadline_ns = INT64_MAX;
    entry->timeline = timeline;
    return entry->fd;
}

void hora__timer_fd_free(int fd)
{
    if (fd >= 0)
        release(find(fd, TIMER, "freeing a timer"));
}

void hora__timer_fd_arm(int fd, int64_t deadline_ns)
{
    struct entry *entry = find(fd, TIMER, "arming a timer");
    entry->deadline_ns = hora__sim_monotonic(entry->timeline, deadline_ns);
    set_readable(entry, entry->deadline_ns <= hora__sim.now_ns);
}

int hora__watch_fd_new(void)
{
    struct entry *entry;
    int error = take_entry(&entry);
    if (error < 0)
        return error;
    entry->kind = WATCH;
    return entry->fd;
}

void hora__watch_fd_free(int fd)
{
    if (fd >= 0)
        release(find(fd, WATCH, "freeing a watch"));
}

void hora__watch_fd_renew(int fd)
{
    set_readable(find(fd, WATCH, "renewing a watch"), false);
}

/* Makes all watches readable: the wall clock was set, or the machine was suspended. */
void hora__sim_events_clock_set(void)
{
    for (int i = 0; i < made && alive > 0; i++)
        if (table[i].kind == WATCH)
            make_readable(&table[i]);
}

/* Moves the deadlines of all timers of a timeline that has advanced by by_ns against the monotonic clock. */
void hora__sim_timers_follow(enum hora__timeline timeline, int64_t by_ns)
{
    for (int i = 0; i < made && alive > 0; i++)
        if (table[i].kind == TIMER && table[i].timeline == timeline)
            table[i].deadline_ns = hora__sim_earlier(table[i].deadline_ns, by_ns);
}

/* Makes the timers readable whose deadline has passed. Threads that wait for them have the same deadline, so
 * the clock wakes them. */
void hora__sim_events_time_passed(void)
{
    for (int i = 0; i < made && alive > 0; i++)
        if (table[i].kind == TIMER && table[i].deadline_ns <= hora__sim.now_ns)
            set_readable(&table[i], true);
}

void hora__sim_events_check(void)
{
    if (alive > 0)
        hora__sim_end(HORA__SIM_LEAK, "%d descriptors are left", alive);
}

void hora__sim_events_end(void)
{
    for (int i = 0; i < made && alive > 0; i++) {
        if (table[i].kind == NONE)
            continue;
        char byte;
        if (table[i].readable && read(table[i].fd, &byte, 1) == 1)
            table[i].readable = false; /* if not, the next run that uses the entry reports the misuse */
        table[i].kind = NONE;
        alive--;
    }
}
