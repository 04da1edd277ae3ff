/* SPDX-License-Identifier: Apache-2.0 */
/* pause.h - part of processors.h */
#ifndef HORA_SYS_PAUSE_H
#define HORA_SYS_PAUSE_H

#include "sys/processors.h"

#endif
