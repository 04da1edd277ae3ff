/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tzif.c - any bytes as a zone file: they are rejected, or make a zone that keeps its promises */
#include "fuzz.h"

#include <stdlib.h>

#include <hora/hora.h>

enum { MOST_TRANSITIONS = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* An instant is one of the moments at which the clocks show what they show then. */
static void check_way_back(const hora_zone *zone, hora_instant instant)
{
    hora_local local;
    hora_local_moments moments;
    require(hora_zone_to_local(zone, instant, &local) == 0);
    require(local.year >= 1677 && local.year <= 2262 && local.short_name[0] != '\0');
    int error = hora_zone_to_instant(zone, &local, &moments);
    if (error == HORA_ERANGE) /* the other one of two cannot be counted */
        return;
    require(error == 0 && moments.kind != HORA_LOCAL_GAP);
    require(moments.first.ns <= instant.ns && instant.ns <= moments.second.ns);
    require((moments.kind == HORA_LOCAL_ONCE) == (moments.first.ns == moments.second.ns));
}

static void check_around(const hora_zone *zone, hora_instant instant)
{
    static const int64_t distances[] = {-86400, -3600, -1, 0, 1, 3600, 86400};
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        hora_instant near;
        if (!__builtin_add_overflow(instant.ns, HORA_SECONDS(distances[i]), &near.ns))
            check_way_back(zone, near);
    }
}

static void check_zone(const hora_zone *zone)
{
    hora_transition transition = {.at.ns = INT64_MIN}, before = transition, back;
    check_around(zone, (hora_instant){INT64_MIN});
    check_around(zone, (hora_instant){0});
    check_around(zone, (hora_instant){INT64_MAX});
    for (int i = 0; i < MOST_TRANSITIONS && hora_zone_next_transition(zone, before.at, &transition) == 1;
         i++) {
        require(transition.at.ns > before.at.ns && transition.offset_before != transition.offset_after);
        require(hora_zone_previous_transition(zone, (hora_instant){transition.at.ns + 1}, &back) == 1);
        require(back.at.ns == transition.at.ns);
        check_around(zone, transition.at);
        before = transition;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hora_zone *zone = NULL;
    hora_error reason;
    static const uint8_t nothing;
    int error = hora_zone_from_data("Fuzz", data != NULL ? data : &nothing, size, &zone, &reason);
    require(reason.code == error);
    if (error == 0)
        check_zone(zone);
    else
        require((error == HORA_EBADMSG || error == HORA_ENOTSUP) && reason.message[0] != '\0' &&
                zone == NULL);
    hora_zone_unref(zone);
    return 0;
}
