/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - part of build.h */
#ifndef HORA_BASE_TOUCH_H
#define HORA_BASE_TOUCH_H

#include "base/build.h"

#endif
