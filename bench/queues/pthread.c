/* SPDX-License-Identifier: Apache-2.0 */
/* pthread.c - a straightforward implementation with a mutex and condition variables, for comparison
 *
 * It waits and wakes correctly, and does nothing else: no interrupts, no order among waiters, no closing, no
 * iteration. A queue has one mutex and two conditions; a condition is signalled at every change of the
 * queue. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "queues.h"

/* An element of a linked queue. */
struct node {
    struct node *next;
    struct item *item;
};

/* A queue of any kind. The lock guards all fields that change. */
struct queue {
    enum queue_kind kind;
    pthread_mutex_t lock;
    pthread_cond_t not_empty; /* takers wait for it */
    pthread_cond_t not_full;  /* putters wait for it */
    int capacity;
    int count;           /* elements in the queue */
    struct item **slots; /* array: a ring, priority and delay: a binary heap, synchronous: one slot */
    int room;            /* slots allocated */
    int first;           /* array: where the ring starts */
    struct node *head;   /* linked: the first node; NULL: none */
    struct node **tail;  /* linked: where the next node is linked */
    int takers;          /* synchronous: threads that wait to take */
    long taken;          /* elements taken since the start */
};

static void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    MUST(pthread_condattr_init(&attributes) == 0);
    MUST(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    MUST(pthread_cond_init(cond, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
}

static void *queue_new(enum queue_kind kind, int capacity, bool fair)
{
    struct queue *q = calloc(1, sizeof(*q));
    (void)fair;
    MUST(q != NULL);
    q->kind = kind;
    q->capacity = kind == PRIORITY || kind == DELAY ? INT32_MAX : kind == SYNCHRONOUS ? 1 : capacity;
    q->room = kind == ARRAY ? capacity : 16;
    q->slots = calloc((size_t)q->room, sizeof(q->slots[0]));
    MUST(q->slots != NULL);
    q->tail = &q->head;
    MUST(pthread_mutex_init(&q->lock, NULL) == 0);
    cond_init(&q->not_empty);
    cond_init(&q->not_full);
    return q;
}

static void queue_free(void *queue)
{
    struct queue *q = queue;
    while (q->head != NULL) {
        struct node *next = q->head->next;
        free(q->head);
        q->head = next;
    }
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q->slots);
    free(q);
}

static bool is_before(const struct queue *q, const struct item *a, const struct item *b)
{
    return q->kind == DELAY ? a->due_ns < b->due_ns : a->priority < b->priority;
}

static void heap_insert(struct queue *q, struct item *item)
{
    if (q->count == q->room) {
        q->room *= 2;
        q->slots = realloc(q->slots, (size_t)q->room * sizeof(q->slots[0]));
        MUST(q->slots != NULL);
    }
    int i = q->count;
    while (i > 0 && is_before(q, item, q->slots[(i - 1) / 2])) {
        q->slots[i] = q->slots[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->slots[i] = item;
}

static struct item *heap_remove_first(struct queue *q)
{
    struct item *first = q->slots[0];
    int n = q->count - 1;
    struct item *moved = q->slots[n];
    int i = 0;
    for (int child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && is_before(q, q->slots[child + 1], q->slots[child]))
            child++;
        if (!is_before(q, q->slots[child], moved))
            break;
        q->slots[i] = q->slots[child];
        i = child;
    }
    q->slots[i] = moved;
    return first;
}

/* Inserts an element, for which there must be room. `node` is the memory for it in a linked queue. The caller
 * holds the lock. */
static void insert_locked(struct queue *q, struct item *item, struct node *node)
{
    if (q->kind == LINKED) {
        *node = (struct node){NULL, item};
        *q->tail = node;
        q->tail = &node->next;
    } else if (q->kind == ARRAY) {
        int last = q->first + q->count;
        q->slots[last < q->room ? last : last - q->room] = item;
    } else if (q->kind == SYNCHRONOUS) {
        q->slots[0] = item;
    } else {
        heap_insert(q, item);
    }
    q->count++;
    pthread_cond_signal(&q->not_empty);
}

/* Removes the first element. *ret_unused is its node in a linked queue, which the caller frees after
 * unlocking. The caller holds the lock. */
static struct item *remove_locked(struct queue *q, struct node **ret_unused)
{
    struct item *item = q->slots[0];
    if (q->kind == LINKED) {
        *ret_unused = q->head;
        item = q->head->item;
        q->head = q->head->next;
        if (q->head == NULL)
            q->tail = &q->head;
    } else if (q->kind == ARRAY) {
        item = q->slots[q->first];
        q->first = q->first + 1 < q->room ? q->first + 1 : 0;
    } else if (q->kind != SYNCHRONOUS) {
        item = heap_remove_first(q);
    }
    q->count--;
    q->taken++;
    if (q->kind == SYNCHRONOUS) /* wake both the putter whose element was taken and the next one */
        pthread_cond_broadcast(&q->not_full);
    else if (q->kind == ARRAY || q->kind == LINKED)
        pthread_cond_signal(&q->not_full);
    return item;
}

/* Allocates a node for a linked queue; NULL for others. Done without the lock, to keep it short. */
static struct node *new_node(const struct queue *q)
{
    if (q->kind != LINKED)
        return NULL;
    struct node *node = malloc(sizeof(*node));
    MUST(node != NULL);
    return node;
}

static void put(void *queue, struct item *item)
{
    struct queue *q = queue;
    struct node *node = new_node(q);
    pthread_mutex_lock(&q->lock);
    while (q->count == q->capacity)
        pthread_cond_wait(&q->not_full, &q->lock);
    insert_locked(q, item, node);
    /* A synchronous queue holds one element, so the next one that is taken is this one. */
    for (long mine = q->taken; q->kind == SYNCHRONOUS && q->taken == mine;)
        pthread_cond_wait(&q->not_full, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

/* Returns true if the first element can be taken. If it is not due yet, stores when it is; INT64_MAX: there
 * is no element. */
static bool is_ready(const struct queue *q, int64_t *ret_due_ns)
{
    *ret_due_ns = INT64_MAX;
    if (q->count == 0 || q->kind != DELAY)
        return q->count > 0;
    *ret_due_ns = q->slots[0]->due_ns;
    return *ret_due_ns <= now_ns();
}

static struct item *take(void *queue)
{
    struct queue *q = queue;
    struct node *unused = NULL;
    int64_t due_ns;
    pthread_mutex_lock(&q->lock);
    q->takers++;
    while (!is_ready(q, &due_ns)) {
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        if (due_ns == INT64_MAX)
            pthread_cond_wait(&q->not_empty, &q->lock);
        else
            pthread_cond_timedwait(&q->not_empty, &q->lock, &due);
    }
    q->takers--;
    struct item *item = remove_locked(q, &unused);
    pthread_mutex_unlock(&q->lock);
    free(unused);
    return item;
}

static bool offer(void *queue, struct item *item)
{
    struct queue *q = queue;
    struct node *node = new_node(q);
    pthread_mutex_lock(&q->lock);
    bool fits = q->count < q->capacity && (q->kind != SYNCHRONOUS || q->takers > 0);
    if (fits)
        insert_locked(q, item, node);
    pthread_mutex_unlock(&q->lock);
    if (!fits)
        free(node);
    return fits;
}

static struct item *poll(void *queue)
{
    struct queue *q = queue;
    struct node *unused = NULL;
    int64_t due_ns;
    pthread_mutex_lock(&q->lock);
    struct item *item = is_ready(q, &due_ns) ? remove_locked(q, &unused) : NULL;
    pthread_mutex_unlock(&q->lock);
    free(unused);
    return item;
}

/* A latch; also a parker, where a count of 0 is the permit. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int count;
};

static void *latch_new(int count)
{
    struct gate *g = malloc(sizeof(*g));
    MUST(g != NULL);
    g->count = count;
    MUST(pthread_mutex_init(&g->lock, NULL) == 0);
    cond_init(&g->opened);
    return g;
}

static void latch_free(void *latch)
{
    struct gate *g = latch;
    /* The thread that counted down last may still hold the lock. */
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&g->opened);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static void count_down(void *latch)
{
    struct gate *g = latch;
    pthread_mutex_lock(&g->lock);
    if (g->count > 0 && --g->count == 0)
        pthread_cond_broadcast(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

static void await(void *latch)
{
    struct gate *g = latch;
    pthread_mutex_lock(&g->lock);
    while (g->count > 0)
        pthread_cond_wait(&g->opened, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void *parker_new(void)
{
    return latch_new(1);
}

static void park(void *parker)
{
    struct gate *g = parker;
    pthread_mutex_lock(&g->lock);
    while (g->count > 0)
        pthread_cond_wait(&g->opened, &g->lock);
    g->count = 1;
    pthread_mutex_unlock(&g->lock);
}

static void unpark(void *parker)
{
    struct gate *g = parker;
    pthread_mutex_lock(&g->lock);
    g->count = 0;
    pthread_cond_signal(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

/* Tests for cancellation, the request of POSIX that a thread stops. */
static bool interrupted(void)
{
    pthread_testcancel();
    return false;
}

const struct subject pthread_subject = {
    .name = "pthread",
    .queue_new = queue_new,
    .queue_free = queue_free,
    .put = put,
    .take = take,
    .offer = offer,
    .poll = poll,
    .latch_new = latch_new,
    .latch_free = latch_free,
    .count_down = count_down,
    .await = await,
    .parker_new = parker_new,
    .parker_free = latch_free,
    .park = park,
    .unpark = unpark,
    .interrupted = interrupted,
};
