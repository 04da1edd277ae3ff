/* SPDX-License-Identifier: Apache-2.0 */
/* cron-registrar.c - around the scheduled function of docs/guide/cron.md */
#include <string.h>

#include <hora/hora.h>

static int clean_up(void)
{
    return 0;
}

/* fragment */

int main(void)
{
    hora_registrar *registrar;
    hora_error error;
    if (hora_registrar_new(NULL, &registrar, &error) < 0 || hora_registrar_scan(registrar, &error) != 1 ||
        hora_registrar_bind(registrar, NULL, &error) < 0)
        return 1;
    hora_instant next;
    if (hora_registration_next(hora_registrar_find(registrar, "nightly"), &next) != 1)
        return 1;
    return hora_registrar_free(registrar) != 0;
}
