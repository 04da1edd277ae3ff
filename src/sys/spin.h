/* SPDX-License-Identifier: Apache-2.0 */
/* spin.h - part of processors.h */
#ifndef HORA_SYS_SPIN_H
#define HORA_SYS_SPIN_H

#include "sys/processors.h"

#endif
