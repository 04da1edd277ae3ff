/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - part of process.h */
#ifndef HORA_SYS_ROSTER_H
#define HORA_SYS_ROSTER_H

#include "sys/process.h"

#endif
