/* SPDX-License-Identifier: Apache-2.0 */
/* find_class_at_limit.c - thumbnails wait although threads are idle: explain and dump show why
 *
 * Time is virtual, so the program runs instantly and always prints the same. */
#line 7 "find_class_at_limit.c" /* independent of the build directory */
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

enum { THUMBNAILS = 5 };

static const hora_clock *clock_view;

static int resize(void *image, void **ret_result)
{
    (void)image;
    (void)ret_result;
    return hora_clock_sleep(clock_view, HORA_SECONDS(60));
}

/* A dump is one line; the interesting part is near its end. */
struct page {
    size_t length;
    char text[16384];
};

static int keep(const char *text, size_t length, void *arg)
{
    struct page *page = arg;
    if (page->length + length >= sizeof page->text)
        return HORA_ENOMEM;
    memcpy(page->text + page->length, text, length);
    page->length += length;
    page->text[page->length] = '\0';
    return 0;
}

static int show_classes(hora_pool *pool)
{
    struct page page = {.length = 0};
    int error = hora_pool_dump(pool, keep, &page);
    const char *classes = strstr(page.text, "\"classes\"");
    if (error == 0 && classes != NULL)
        printf("dump:    %.*s\n", (int)strcspn(classes, "]"), classes);
    return error;
}

static void ask(hora_future *future)
{
    char why[HORA_EXPLAIN_TEXT];
    hora_future_explain(future, why, sizeof why);
    printf("explain: %s\n", why);
}

/* Submits the tasks and prints why they wait. Returns 1 if everything went as expected, otherwise 0. */
static int look_into_it(hora_virtual_clock *clock, hora_pool *pool)
{
    hora_class *slow;
    hora_future *futures[THUMBNAILS];
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2), &slow, NULL) < 0)
        return 0;
    for (int i = 0; i < THUMBNAILS; i++)
        if (hora_pool_submit_with(pool, HORA_TASK(resize, NULL, .name = "resize"),
                                  HORA_TASK_OPTIONS(.task_class = slow), &futures[i], NULL) < 0)
            return 0;
    if (hora_virtual_clock_run(clock, HORA_SECONDS(9)) < 0)
        return 0;
    printf("The last thumbnail has been waiting for 9 s. Why?\n");
    ask(futures[THUMBNAILS - 1]);
    show_classes(pool);
    printf("So there are threads, but the class may use two of them. Let it have all:\n");
    hora_class_set(slow, HORA_CLASS_OPTIONS(.limit = 0), NULL);
    if (hora_virtual_clock_run(clock, 0) < 0 || hora_pool_get_stats(pool, &stats) < 0)
        return 0;
    printf("%d of %d are running now.\n", stats.active, THUMBNAILS);
    for (int i = 0; i < THUMBNAILS; i++)
        hora_future_unref(futures[i]);
    return stats.active == THUMBNAILS;
}

int main(void)
{
    hora_virtual_clock *clock;
    hora_pool *pool;
    if (hora_virtual_clock_new(NULL, &clock, NULL) < 0)
        return 1;
    clock_view = hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC);
    if (hora_pool_new(
            HORA_POOL_OPTIONS(.core_threads = 8, .clock = clock_view, .admission = HORA_ADMISSION()), &pool,
            NULL) < 0)
        return 1;
    int right = look_into_it(clock, pool) && hora_virtual_clock_run(clock, HORA_MINUTES(2)) == 0;
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0 || hora_virtual_clock_free(clock) < 0 ||
           !right;
}
