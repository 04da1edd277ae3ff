/* SPDX-License-Identifier: Apache-2.0 */
/* first_release.h - part of options.h */
#ifndef HORA_BASE_FIRST_RELEASE_H
#define HORA_BASE_FIRST_RELEASE_H

#include "base/options.h"

#endif
