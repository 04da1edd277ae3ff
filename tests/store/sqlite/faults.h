/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - a disk that fails, fills up, or loses power, below SQLite
 *
 * faults_install makes a VFS the default of the process that passes everything on to the VFS of the system,
 * and counts the operations. faults_arm lets the n-th of them fail.
 *
 * The disk keeps what it was told to keep by xSync. A loss of power ends all operations, as if the process
 * were gone. After the test has closed its connections, faults_settle makes the files what the disk might
 * have kept: of the writes since the last xSync of a file, each is there, or is not, or is there in part, or
 * has left garbage, by chance. xSync itself costs nothing, so tests are quick. */
#ifndef HORA_TESTS_STORE_SQLITE_FAULTS_H
#define HORA_TESTS_STORE_SQLITE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum faults_kind {
    FAULTS_NONE,
    FAULTS_FAIL_ONCE,  /* one operation fails */
    FAULTS_FAIL,       /* all operations fail from then on, until faults_disarm */
    FAULTS_FULL,       /* all writes fail from then on, because the disk is full, until faults_disarm */
    FAULTS_POWER_LOSS, /* see above */
} faults_kind;

void faults_install(void);

/* Lets operation `n`, counted from 1, fail. Power can only be lost at operations that write. */
void faults_arm(faults_kind kind, int64_t n);

/* Ends the fault, except a loss of power. Returns true if it has happened. */
bool faults_disarm(void);

/* After a loss of power, when no connection is open: decides what the disk has kept. Also to be called when
 * nothing has happened, to forget what was not synced. Returns how many writes were not kept as they were. */
int64_t faults_settle(uint64_t seed);

#endif
