/* SPDX-License-Identifier: Apache-2.0 */
/* none.c - a program that looks for functions that declare themselves, and has none */
#include <stddef.h>

#include <hora/registrar.h>

int main(void)
{
    hora_registrar *registrar;
    if (hora_registrar_new(NULL, &registrar, NULL) < 0)
        return 1;
    int found = hora_registrar_scan(registrar, NULL);
    return hora_registrar_free(registrar) < 0 || found != 0;
}
