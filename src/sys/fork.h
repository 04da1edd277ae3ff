/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - part of process.h */
#ifndef HORA_SYS_FORK_H
#define HORA_SYS_FORK_H

#include "sys/process.h"

#endif
