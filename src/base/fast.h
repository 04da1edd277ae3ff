/* SPDX-License-Identifier: Apache-2.0 */
/* fast.h - part of build.h */
#ifndef HORA_BASE_FAST_H
#define HORA_BASE_FAST_H

#include "base/build.h"

#endif
