/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - a place in a chain of segments */
#ifndef HORA_QUEUE_PLACE_H
#define HORA_QUEUE_PLACE_H

#include "queue/segment.h"

/* `index` may be HORA__SLOTS, which is the place before the first of the next segment. */
struct hora__place {
    struct hora__segment *segment;
    int index;
};

/* A segment that ends early, since there is no room for another form, has one entry in so many slots. */
enum { HORA__FORM_SPREAD = HORA__SLOTS / HORA__FORMS };

/* What stands there, if it is a place where something can stand, which it is unless it is the end of the chain. */
static inline struct hora__slot *hora__place_slot(struct hora__place *place)
{
    if (place->index == HORA__SLOTS)
        *place = (struct hora__place){place->segment->next, 0};
    return &place->segment->slots[place->index];
}

/* From here to the end of its segment nothing stands. Returns how many holes these are. */
static inline int hora__place_leave_holes(struct hora__place *place)
{
    int count = HORA__SLOTS - place->index;
    for (; place->index < HORA__SLOTS; place->index++)
        hora__slot_set_item(&place->segment->slots[place->index], NULL);
    return count;
}

/* On to the next segment: the one that is read from, or one before it, where nothing is left that needs its forms. */
static inline void hora__place_step(struct hora__place *to, const struct hora__segment *reads)
{
    *to = (struct hora__place){to->segment->next, 0};
    assert(to->segment->holders == 0); /* only the first one is ever offered */
    if (to->segment != reads)
        to->segment->form_count = 0;
}

/* Move an entry towards the front of its chain, to a place or, if that one's segment has no room for its form, to the beginning of the
 * next; the place is then the one behind it. All that is before the entry has been moved already. Returns how many holes that leaves. */
static inline int hora__place_move(struct hora__place *to, const struct hora__place *from)
{
    int holes = 0;
    if (to->index == HORA__SLOTS)
        hora__place_step(to, from->segment);
    if (!hora__segment_copy(to->segment, to->index, from->segment, from->index)) {
        holes = hora__place_leave_holes(to);
        hora__place_step(to, from->segment);
        (void)hora__segment_copy(to->segment, to->index, from->segment, from->index);
    }
    to->index++;
    return holes;
}

#endif
