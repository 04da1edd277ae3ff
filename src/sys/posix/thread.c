/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - threads on pthreads
 *
 * Globals           A process has one counter for thread numbers and one key whose destructor runs at the
 *                   end of threads. Neither belongs to an object; the counter only rises, and the key is
 *                   made once. The list of threads that carry a pointer exists only for unloading.
 * Unloading         The library may be unloaded while threads that carry a pointer are alive. These must
 *                   not run its code when they end, so the library's destructor deletes the key and gives
 *                   up their pointers itself. When the process exits, the same destructor runs while other
 *                   threads go on using their pointers, so it must do nothing then. The order of calls
 *                   distinguishes the two cases: dlclose calls destructors before the functions that the
 *                   library registered with atexit, exit calls them afterwards. */
#include "sys/thread.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <hora/error.h>

#include "base/build.h"
#include "base/list.h"
#include "sys/alloc.h"
#include "sys/posix/internal.h"
#include "sys/process.h"

#if defined(__linux__)
enum { NAME_SIZE = 16 }; /* the kernel's limit, including the final NUL */
#else
enum { NAME_SIZE = 64 };
#endif

/* The arguments of a new thread, allocated by the thread that starts it and freed by the new one. */
struct start {
    void (*run)(void *arg);
    void *arg;
    char name[NAME_SIZE]; /* cut to the system's limit; "": none */
};

/* Names the calling thread, unless the name is empty. */
static void set_name(const char *name)
{
    if (name[0] == '\0')
        return;
#if defined(__linux__)
    (void)pthread_setname_np(pthread_self(), name); /* for display only, so errors do not matter */
#endif
}

/* How late the kernel may end a sleep in order to merge wake-ups; the default is 50 us. With less slack,
 * timers that follow each other closely wake a worker for each, which costs more than the tasks. */
enum { SLACK_NS = 30000 };

/* Limits how late the kernel may end the sleeps of the calling thread. */
static void set_slack(void)
{
#if defined(__linux__)
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
#endif
}

/* The first function of each thread. */
static void *enter(void *memory)
{
    struct start start = *(struct start *)memory;
    hora__free(memory);
    set_name(start.name);
    set_slack();
    start.run(start.arg);
    return NULL;
}

/* Stores all signals except those that a thread raises by its own fault. Threads of hora block these signals,
 * so that the system delivers them to threads of the program. */
static void asynchronous_signals(sigset_t *set)
{
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    (void)sigfillset(set);
    for (size_t i = 0; i < sizeof synchronous / sizeof synchronous[0]; i++)
        (void)sigdelset(set, synchronous[i]);
}

size_t hora__os_thread_least_stack(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 0 ? (size_t)least : 1;
}

/* A stack larger than a quarter of the address space, or than a terabyte, is a mistake in the options. */
size_t hora__os_thread_most_stack(void)
{
    const uint64_t most = UINT64_C(1) << 40;
    return most < SIZE_MAX / 4 ? (size_t)most : SIZE_MAX / 4;
}

/* Sets the stack size, rounded up to the system's minimum and to whole pages; 0 keeps the default. Returns 0
 * or a negative error. */
static int set_stack_size(pthread_attr_t *attributes, size_t size)
{
    if (size == 0)
        return 0;
    size_t least = hora__os_thread_least_stack();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size < least)
        size = least;
    if (size > SIZE_MAX - page)
        return HORA_EINVAL;
    return -pthread_attr_setstacksize(attributes, (size + page - 1) / page * page);
}

/* Creates a thread with asynchronous signals blocked. A new thread inherits its creator's mask, so the
 * function blocks the signals in the calling thread and restores its mask afterwards. Returns 0 or a negative
 * error. */
static int create_masked(pthread_t *thread, const pthread_attr_t *attributes, struct start *start)
{
    sigset_t blocked;
    sigset_t before;
    asynchronous_signals(&blocked);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int error = pthread_create(thread, attributes, enter, start);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int hora__os_thread_start(const struct hora__thread_spec *spec, hora__os_thread *ret_thread)
{
    assert(spec->run != NULL && ret_thread != NULL);
    pthread_attr_t attributes;
    int error = -pthread_attr_init(&attributes);
    if (error < 0)
        return error;
    struct start *start = hora__alloc(1, sizeof *start);
    error = start == NULL ? HORA_ENOMEM : set_stack_size(&attributes, spec->stack_size);
    if (error == 0) {
        start->run = spec->run;
        start->arg = spec->arg;
        if (spec->name != NULL)
            memcpy(start->name, spec->name, strnlen(spec->name, NAME_SIZE - 1));
        pthread_t thread;
        error = create_masked(&thread, &attributes, start);
        if (error == 0)
            ret_thread->handle = (uintptr_t)thread;
    }
    if (error < 0)
        hora__free(start); /* no thread has it */
    (void)pthread_attr_destroy(&attributes);
    return error;
}

void hora__os_thread_join(hora__os_thread thread)
{
    (void)pthread_join((pthread_t)thread.handle, NULL);
}

hora__os_thread hora__os_thread_self(void)
{
    return (hora__os_thread){.handle = (uintptr_t)pthread_self()};
}

int64_t hora__os_thread_used(hora__os_thread thread)
{
#if defined(__linux__)
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid((pthread_t)thread.handle, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
#else
    (void)thread;
    return -1;
#endif
}

void hora__os_thread_guard(void (*run)(void *arg), void (*ends)(void *arg), void *arg)
{
    assert(run != NULL && ends != NULL);
    pthread_cleanup_push(ends, arg);
    run(arg);
    pthread_cleanup_pop(0);
}

int32_t hora__thread_id(void)
{
    static _Atomic int32_t last;
    static HORA__THREAD_LOCAL int32_t id; /* 0: not yet numbered */
    if (id == 0)
        id = 1 + (atomic_fetch_add(&last, 1) & INT32_MAX) % INT32_MAX;
    return id;
}

/* ---- the pointer that a thread carries ---- */

/* A thread that has set a pointer; the value of the key in that thread. */
struct carrier {
    struct hora__list link; /* in carriers; guarded by carriers_lock */
    void *pointer;          /* passed to the exit hook */
    int32_t generation;     /* hora__fork_generation() when it was made: after a fork it is on no list */
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;           /* its destructor is end_of_thread */
static int key_error = HORA_EAGAIN; /* until the key exists */
/* The at_exit function of hora__thread_set_pointer. */
static void (*_Atomic exit_hook)(void *pointer);
static HORA__THREAD_LOCAL void *carried; /* the pointer of the calling thread; quicker to read than the key */
/* Guards `carriers`. Held briefly, and no code of other files runs under it. */
static pthread_mutex_t carriers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hora__list carriers = {&carriers, &carriers}; /* all carriers of this process */
static atomic_bool exits; /* the process is exiting, or hora cannot tell whether it is */

/* Frees a carrier and calls the exit hook with its pointer. The carrier must be on no list. */
static void give_up(struct carrier *carrier)
{
    void *pointer = carrier->pointer;
    hora__free(carrier);
    atomic_load (&exit_hook)(pointer);
}

/* Called by pthreads when a thread that carries a pointer ends. */
static void end_of_thread(void *memory)
{
    struct carrier *carrier = memory;
    (void)pthread_mutex_lock(&carriers_lock);
    if (carrier->generation == hora__fork_generation()) /* else its links point to memory of the parent */
        hora__list_remove(&carrier->link);
    (void)pthread_mutex_unlock(&carriers_lock);
    carried = NULL; /* the hook must not find the pointer that it frees */
    give_up(carrier);
}

/* In the child, lock and list may be in any state, since another thread of the parent may have been using
 * them, and the list holds threads of the parent. */
void hora__thread_forked(void)
{
    carriers_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    hora__list_init(&carriers);
}

/* Notes that the process is exiting; called by exit before it calls the destructors. */
static void note_exit(void *unused)
{
    (void)unused;
    atomic_store(&exits, true);
}

/* The function that atexit calls in a shared library. Handlers registered with it are also removed when the
 * library is unloaded, which ThreadSanitizer's atexit does not do. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): they are the system's */
extern int __cxa_atexit(void (*function)(void *), void *arg, void *library);
extern char __dso_handle[] __attribute__((visibility("hidden")));

static int watch_exit(void)
{
    return __cxa_atexit(note_exit, NULL, __dso_handle);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Makes the key, once per process. If the end of the process cannot be watched, unload() must assume that it
 * is exiting, which is the safe case. */
static void make_key(void)
{
    if (watch_exit() != 0)
        note_exit(NULL);
    key_error = -pthread_key_create(&key, end_of_thread);
}

/* Removes one carrier from the list and returns it; NULL: the list is empty. */
static struct carrier *take_carrier(void)
{
    struct carrier *carrier = NULL;
    (void)pthread_mutex_lock(&carriers_lock);
    if (!hora__list_is_empty(&carriers)) {
        carrier = HORA__LIST_ENTRY(carriers.next, struct carrier, link);
        hora__list_remove(&carrier->link);
    }
    (void)pthread_mutex_unlock(&carriers_lock);
    return carrier;
}

/* Runs when the library is unloaded and when the process exits; see the top of this file. The lock is
 * released before each hook is called, because the hook is code of another file. */
__attribute__((destructor)) static void unload(void)
{
    struct carrier *carrier;
    if (key_error < 0 || atomic_load(&exits))
        return;
    (void)pthread_key_delete(key); /* from now on, threads that end do not call into the library */
    while ((carrier = take_carrier()) != NULL)
        give_up(carrier);
}

void *hora__thread_pointer(void)
{
    return carried;
}

int hora__thread_set_pointer(void *pointer, void (*at_exit)(void *pointer))
{
    assert(pointer != NULL && at_exit != NULL);
    atomic_store(&exit_hook, at_exit);
    (void)pthread_once(&key_once, make_key);
    if (key_error < 0)
        return key_error;
    struct carrier *carrier = hora__alloc(1, sizeof *carrier);
    if (carrier == NULL)
        return HORA_ENOMEM;
    carrier->pointer = pointer;
    carrier->generation = hora__fork_generation();
    int error = -pthread_setspecific(key, carrier); /* from now on the end of the thread calls the hook */
    if (error < 0) {
        hora__free(carrier);
        return error;
    }
    (void)pthread_mutex_lock(&carriers_lock);
    hora__list_add_last(&carriers, &carrier->link);
    (void)pthread_mutex_unlock(&carriers_lock);
    carried = pointer;
    return 0;
}

void hora__thread_carry(void *pointer)
{
    carried = pointer;
}
