/* SPDX-License-Identifier: Apache-2.0 */
/* zones.c - hora's description of zones: zones [FOLDER] <NAMES >LINES
 *
 * Prints for each zone the line "zone NAME OFFSET", with its offset at FROM, and then one line for each
 * transition until UNTIL:
 *
 *     AT BEFORE AFTER  LOCAL ...  MOMENTS ...
 *
 * LOCAL are the local times one second before and at the transition. MOMENTS are the instants of the local
 * times around its gap or overlap, as KIND,FIRST,SECOND,BEFORE,AFTER. All are in seconds. Zones.java prints
 * the same for the JDK's zones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#define FROM  INT64_C(-5364662400) /* 1800 */
#define UNTIL INT64_C(4133980800)  /* 2101 */

static hora_instant at_second(int64_t second)
{
    return (hora_instant){second * INT64_C(1000000000)};
}

static void fail(const char *name, const char *what)
{
    printf("%s: %s\n", name, what);
    fprintf(stderr, "zones: %s: %s\n", name, what);
    exit(1);
}

static void print_local(const hora_zone *zone, int64_t second)
{
    hora_local local;
    if (hora_zone_to_local(zone, at_second(second), &local) < 0)
        fail(hora_zone_name(zone), "no local time");
    printf(" %04d-%02d-%02dT%02d:%02d:%02d,%d,%d,%d", (int)local.year, local.month, local.day, local.hour,
           local.minute, local.second, local.weekday, local.day_of_year, local.offset);
}

/* The local time that UTC shows at this second. */
static void print_moments(const hora_zone *zone, int64_t shown)
{
    hora_local local;
    hora_local_moments moments;
    if (hora_zone_to_local(NULL, at_second(shown), &local) < 0 ||
        hora_zone_to_instant(zone, &local, &moments) < 0)
        fail(hora_zone_name(zone), "no instant");
    printf(" %d,%lld,%lld,%d,%d", moments.kind, (long long)(moments.first.ns / 1000000000),
           (long long)(moments.second.ns / 1000000000), moments.offset_before, moments.offset_after);
}

static void print_transition(const hora_zone *zone, const hora_transition *transition)
{
    int64_t at = transition->at.ns / 1000000000;
    int before = transition->offset_before, after = transition->offset_after;
    int64_t low = at + (before < after ? before : after), high = at + (before < after ? after : before);
    printf("%lld %d %d", (long long)at, before, after);
    print_local(zone, at - 1);
    print_local(zone, at);
    const int64_t shown[] = {low - 1, low, low + (high - low) / 2, high - 1, high};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        print_moments(zone, shown[i]);
    putchar('\n');
}

/* The name as it was asked for: "GMT+0" calls itself "GMT". */
static void print_zone(const hora_zone *zone, const char *name)
{
    hora_transition transition;
    hora_local local;
    if (hora_zone_to_local(zone, at_second(FROM), &local) < 0)
        fail(hora_zone_name(zone), "no local time");
    printf("zone %s %d\n", name, local.offset);
    hora_instant after = at_second(FROM);
    while (hora_zone_next_transition(zone, after, &transition) == 1 &&
           transition.at.ns < UNTIL * 1000000000) {
        hora_transition back;
        hora_instant behind = {transition.at.ns + 1};
        if (hora_zone_previous_transition(zone, behind, &back) != 1 || back.at.ns != transition.at.ns)
            fail(hora_zone_name(zone), "there is no way back to a transition");
        print_transition(zone, &transition);
        after = transition.at;
    }
}

int main(int argc, char **argv)
{
    char name[256];
    hora_zone_options *options = argc > 1 ? HORA_ZONE_OPTIONS(.folder = argv[1]) : NULL;
    while (fgets(name, sizeof name, stdin) != NULL) {
        name[strcspn(name, "\n")] = '\0';
        hora_zone *zone;
        hora_error error;
        if (hora_zone_new(name, options, &zone, &error) < 0)
            fail(name, error.message);
        print_zone(zone, name);
        hora_zone_unref(zone);
    }
    return 0;
}
