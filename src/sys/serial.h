/* SPDX-License-Identifier: Apache-2.0 */
/* serial.h - numbers for names, counted through the life of the process */
#ifndef HORA_SYS_SERIAL_H
#define HORA_SYS_SERIAL_H

/* 1, 2, 3, ... */
int hora__serial_next(void);

#endif
