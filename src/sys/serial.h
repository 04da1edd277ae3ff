/* SPDX-License-Identifier: Apache-2.0 */
/* serial.h - part of process.h */
#ifndef HORA_SYS_SERIAL_H
#define HORA_SYS_SERIAL_H

#include "sys/process.h"

#endif
