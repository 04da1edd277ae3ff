/* SPDX-License-Identifier: Apache-2.0 */
/* heads.c - a tournament among the heads of runs
 *
 * How it works      Match i is between the winners of matches 2 i and 2 i + 1; what would be match entrants + i is the head i itself.
 *                   The last is match 1. If a head changes, the matches on its way to the last are played again. Whom it meets
 *                   there is known beforehand, so the processor fetches all of them at once, and nothing waits for
 *                   anything but one comparison for the one before: in a heap the way down itself depends on each comparison.
 * Entrants          As many as there are heads would change with each; so there are up to four times as many, and those from
 *                   head_count on lose against all. They double when there are too few, and halve when a quarter would do: each time
 *                   all is played anew, which the heads that came or went meanwhile have paid for.
 * Invariants        I1 head_count <= entrants <= head_capacity; entrants is even, so head i meets head i ^ 1.
 *                   I2 each match has the due time and the index of its winner. */
#include "base/heads.h"

#include <assert.h>

#include "base/touch.h"

struct player {
    int64_t due;
    int index;
};

/* That two are due at the same time is rare. Who is not there is so for ever, but so may be who is. */
static bool wins_tie(const struct hora__match *heads, int a, int b)
{
    const struct hora__heap_entry *place = heads[a].head.place;
    const struct hora__heap_entry *other = heads[b].head.place;
    return place != NULL && (other == NULL || place->sequence < other->sequence);
}

/* Without a branch, since who wins cannot be foretold. */
static inline struct player winner_of(const struct hora__match *heads, struct player a, struct player b)
{
    bool is_b = b.due < a.due;
    if (__builtin_expect(b.due == a.due, false))
        is_b = wins_tie(heads, b.index, a.index);
    a.due ^= (a.due ^ b.due) & -(int64_t)is_b;
    a.index ^= (a.index ^ b.index) & -(int)is_b;
    return a;
}

static inline struct player player_at(const struct hora__match *heads, int i)
{
    return (struct player){heads[i].head.due, i};
}

void hora__heads_play(struct hora__runs *runs, int i, struct hora__head head)
{
    struct hora__match *heads = runs->heads;
    heads[i].head = head;
    struct player best = winner_of(heads, player_at(heads, i), player_at(heads, i ^ 1));
    int match = (runs->entrants + i) / 2;
    HORA__TOUCH(2);
    while (match > 1) {
        const struct hora__match *other = &heads[match ^ 1];
        heads[match].due = best.due;
        heads[match].winner = best.index;
        best = winner_of(heads, best, (struct player){other->due, other->winner});
        match /= 2;
        HORA__TOUCH(1);
    }
    heads[1].due = best.due;
    heads[1].winner = best.index;
}

static const struct hora__head nobody = {.due = INT64_MAX, .place = NULL};

/* Who wins the i-th match, if those before it have been played. */
static struct player play_off(const struct hora__runs *runs, int i)
{
    const struct hora__match *heads = runs->heads;
    struct player players[2];
    for (int k = 0; k < 2; k++) {
        int match = 2 * i + k;
        players[k] = match < runs->entrants ? (struct player){heads[match].due, heads[match].winner}
                                            : player_at(heads, match - runs->entrants);
    }
    return winner_of(heads, players[0], players[1]);
}

/* Play all anew, among so many. */
static void begin_tournament(struct hora__runs *runs, int entrants)
{
    struct hora__match *heads = runs->heads;
    assert(entrants >= 2 && entrants % 2 == 0 && entrants <= runs->head_capacity && entrants >= runs->head_count);
    HORA__TOUCH_PREPAID(entrants);
    for (int i = runs->head_count; i < entrants; i++)
        heads[i].head = nobody;
    runs->entrants = entrants;
    for (int i = entrants - 1; i > 0; i--) {
        struct player best = play_off(runs, i);
        heads[i].due = best.due;
        heads[i].winner = best.index;
    }
}

enum { FEWEST_ENTRANTS = 16 };

void hora__heads_add(struct hora__runs *runs, struct hora__head head)
{
    assert(runs->head_count < runs->head_capacity);
    if (runs->head_count == runs->entrants)
        begin_tournament(runs, 2 * runs->entrants < runs->head_capacity ? 2 * runs->entrants : runs->head_capacity);
    hora__heads_play(runs, runs->head_count++, head);
}

void hora__heads_remove(struct hora__runs *runs, int i)
{
    int last = --runs->head_count;
    if (i < last)
        hora__heads_play(runs, i, runs->heads[last].head);
    hora__heads_play(runs, last, nobody);
    if (last < runs->entrants / 4 && runs->entrants > FEWEST_ENTRANTS)
        begin_tournament(runs, (runs->entrants / 4 + 1) * 2);
}

void hora__heads_begin(struct hora__runs *runs)
{
    begin_tournament(runs, runs->head_capacity < FEWEST_ENTRANTS ? runs->head_capacity : FEWEST_ENTRANTS);
}

bool hora__heads_check(const struct hora__runs *runs)
{
    const struct hora__match *heads = runs->heads;
    for (int i = 0; i < runs->entrants; i++)
        if (i < runs->head_count ? heads[i].head.due != heads[i].head.place->due : heads[i].head.place != NULL)
            return false;
    for (int i = runs->entrants - 1; i > 0; i--) {
        struct player best = play_off(runs, i);
        if (heads[i].due != best.due || heads[heads[i].winner].head.place != heads[best.index].head.place)
            return false; /* which of two that are not there has won does not matter */
    }
    return true;
}
