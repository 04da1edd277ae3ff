/* SPDX-License-Identifier: Apache-2.0 */
/* inline.h - part of build.h */
#ifndef HORA_BASE_INLINE_H
#define HORA_BASE_INLINE_H

#include "base/build.h"

#endif
