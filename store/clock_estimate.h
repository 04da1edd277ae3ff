/* SPDX-License-Identifier: Apache-2.0 */
/* clock_estimate.h - what a node knows about the store's clock
 *
 * Each exchange reads the store's clock between sending and reply: once in the transaction, and once after
 * the commit, which takes longest. The first reading less the time of sending is the most that the clocks can
 * be apart, and the second one less the time of the reply is the least. The intervals of successive exchanges
 * are intersected; an old one widens by the most that clocks drift. The estimate is the lower end: it is
 * never ahead of the store's clock, so nothing starts early. */
#ifndef HORA_STORE_CLOCK_ESTIMATE_H
#define HORA_STORE_CLOCK_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>

typedef struct hora__clock_estimate {
    bool known;
    hora_ns low, high;   /* the store's clock less the node's is between them */
    hora_ns measured_at; /* the node's time of the latest exchange */
} hora__clock_estimate;

/* Adds the two readings of an exchange, which may be the same. Returns by how many us the store's clock was
 * set, or 0: readings that are more than 250 ms away from what was known. */
int64_t hora__clock_estimate_add(hora__clock_estimate *estimate, hora_ns sent, hora_ns received,
                                 int64_t first_us, int64_t last_us);

/* The store's time in us; INT64_MIN if nothing is known. */
int64_t hora__clock_estimate_store_us(const hora__clock_estimate *estimate, hora_ns node_time);

/* A time in us that the store's clock has certainly not passed; INT64_MAX if nothing is known. */
int64_t hora__clock_estimate_latest_us(const hora__clock_estimate *estimate, hora_ns node_time);

/* The node's time at which the store's clock has certainly reached a time. */
hora_ns hora__clock_estimate_node_time(const hora__clock_estimate *estimate, int64_t store_us);

#endif
