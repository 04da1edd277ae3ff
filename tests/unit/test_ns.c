/* SPDX-License-Identifier: Apache-2.0 */
/* test_ns.c - sums of times saturate, and never stays never */
#include "base/ns.h"
#include "harness.h"

TEST_REAL(sums_saturate, "")
{
    CHECK_INT(hora__ns_add(1, 2), 3);
    CHECK_INT(hora__ns_add(INT64_MAX - 1, 1), INT64_MAX);
    CHECK_INT(hora__ns_add(INT64_MAX - 1, 2), INT64_MAX);
    CHECK_INT(hora__ns_add(INT64_MIN, -1), INT64_MIN);
    CHECK_INT(hora__ns_add(INT64_MIN, INT64_MAX - 1), -2);
}

TEST_REAL(never_stays_never, "")
{
    CHECK_INT(hora__ns_add(INT64_MAX, -5), INT64_MAX);
    CHECK_INT(hora__ns_add(INT64_MIN, INT64_MAX), INT64_MAX);
    CHECK_INT(hora__ns_sub(INT64_MAX, 5), INT64_MAX);
    CHECK_INT(hora__ns_sub(INT64_MAX, INT64_MAX), INT64_MAX);
}

TEST_REAL(differences_saturate, "")
{
    CHECK_INT(hora__ns_sub(3, 5), -2);
    CHECK_INT(hora__ns_sub(INT64_MIN, 1), INT64_MIN);
    CHECK_INT(hora__ns_sub(INT64_MAX - 1, -2), INT64_MAX);
    CHECK_INT(hora__ns_sub(0, INT64_MIN), INT64_MAX);
}
