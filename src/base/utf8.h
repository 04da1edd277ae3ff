/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - part of text.h */
#ifndef HORA_BASE_UTF8_H
#define HORA_BASE_UTF8_H

#include "base/text.h"

#endif
