/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - part of process.h */
#ifndef HORA_SYS_LIBRARY_H
#define HORA_SYS_LIBRARY_H

#include "sys/process.h"

#endif
