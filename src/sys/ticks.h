/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.h - part of clock.h */
#ifndef HORA_SYS_TICKS_H
#define HORA_SYS_TICKS_H

#include "sys/clock.h"

#endif
