/* SPDX-License-Identifier: Apache-2.0 */
/* test_zones.c - the zones that a scheduler knows: read once for all tasks, and refreshed with them */
#include <stdio.h>

#include "../api/schedule_support.h"
#include "../api/zone_support.h"
#include "cron/zone.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_internal.h"
#include "sys/alloc.h"

/* As in zones.c. */
struct known_zone {
    struct hora__list link;
    hora_zone *zone;
};

static int count_known(const struct stage *s)
{
    const struct hora__list *zones = &timer_queue_of(s->scheduler->queue)->zones;
    int count = 0;
    for (const struct hora__list *link = zones->next; link != zones; link = link->next)
        count++;
    return count;
}

TEST(zones_are_read_once_for_all_tasks, "")
{
    static const char *const names[] = {
        "Europe/Berlin", "Europe/Berlin", "+0530", "+05:30", NULL, "local", "UTC"};
    enum { TASKS = sizeof(names) / sizeof(*names) };
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[TASKS];
    hora_future *futures[TASKS];
    for (int i = 0; i < TASKS; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .cron = "@daily", .zone = names[i]);
    }
    CHECK_INT(count_known(&s), 4);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&ticks[0]),
                                             HORA_SCHEDULE(.cron = "@daily", .zone = "No/Where"), NULL, NULL),
                HORA_ENOENT);
    CHECK_INT(count_known(&s), 4);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    for (int i = 0; i < TASKS; i++)
        END(&ticks[i], futures[i]);
    CHECK_INT(count_known(&s), 4);
    stage_close(&s);
}

/* A waiting task gets the new rules, and so does a task that is scheduled later. */
TEST(zones_that_are_known_are_refreshed, "")
{
    struct stage s;
    struct folder folder;
    struct image image;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), other = A_TICK(&s);
    hora_future *future = START(&s, &tick, .cron = "0 0 12 * * *", .zone = "Europe/Berlin");
    CHECK_INT(info_of(future).next, stage_instant(&s, 11 * 3600).ns);

    hora_zone *zone =
        HORA__LIST_ENTRY(timer_queue_of(s.scheduler->queue)->zones.next, struct known_zone, link)->zone;
    folder_make(&folder); /* as if the system's database were there */
    char *path = hora__alloc(1, 128);
    CHECK(path != NULL);
    (void)snprintf(path, 128, "%s/zone", folder.path);
    hora__free(zone->path);
    zone->path = path;
    image_fixed(&image, 5 * 3600, "ABC", "");
    folder_put(&folder, &image);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    stage_settle(&s);
    CHECK_INT(info_of(future).next, stage_instant(&s, 7 * 3600).ns);
    hora_future *second = START(&s, &other, .cron = "0 0 12 * * *", .zone = "Europe/Berlin");
    CHECK_INT(info_of(second).next, stage_instant(&s, 7 * 3600).ns);
    END(&tick, future);
    END(&other, second);
    image_fixed(&image, 6 * 3600, "ABC", "");
    folder_put(&folder, &image);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1); /* also if no task uses it */
    stage_close(&s);
    folder_remove(&folder);
}
