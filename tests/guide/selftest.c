/* SPDX-License-Identifier: Apache-2.0 */
/* selftest.c - the wrapper of the pages of tests/guide/selftest */
#include <stdio.h>

#include <hora/hora.h>

/* fragment */

int main(void)
{
    /* fragment */
    printf("%d\n", n);
    return 0;
}
