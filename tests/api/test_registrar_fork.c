/* SPDX-License-Identifier: Apache-2.0 */
/* test_registrar_fork.c - in the child of a fork the parent's registrars and handles reject every call */
#include <string.h>

#include "child.h"
#include "registrar_support.h"

/* What the parent made. */
struct family {
    struct office o;
    struct tick first, second, third;
    hora_registration *bound, *disabled;
    hora_registrar *unbound;
    hora_registration *declared;
};

static void call_registrar(hora_registrar *registrar, struct family *family)
{
    hora_registration *registration = NULL;
    hora_error error = {.code = 1};
    const hora_scheduled_functions none = {NULL, NULL};

    CHILD_FORKED(hora_registrar_add(registrar, TICK(&family->third), HORA_DECLARATION(.fixed_rate = 1),
                                    &registration, &error));
    CHILD_CHECK(error.code == HORA_EFORKED);
    CHILD_CHECK(strstr(error.message, "the parent process") != NULL);
    CHILD_FORKED(hora_registrar_bind(registrar, family->o.s.scheduler, NULL));
    CHILD_FORKED(hora_registrar_bind(registrar, NULL, NULL));
    CHILD_FORKED(hora_registrar_add_functions(registrar, &none, NULL));
    CHILD_FORKED(hora_registrar_scan_library(registrar, family, NULL));
    CHILD_FORKED(hora_registrar_close(registrar));
    CHILD_FORKED(hora_registrar_free(registrar));
    CHILD_CHECK(hora_registrar_count(registrar) == 0);
    CHILD_CHECK(hora_registrar_get(registrar, 0) == NULL);
    CHILD_CHECK(hora_registrar_find(registrar, "tick") == NULL);
    CHILD_CHECK(registration == NULL && family->third.drops == 0);
}

static void call_handle(hora_registration *registration)
{
    hora_instant next;
    hora_outcome outcome = HORA_INIT(hora_outcome);
    char text[64];

    CHILD_FORKED(hora_registration_next(registration, &next));
    CHILD_FORKED(hora_registration_get_outcome(registration, &outcome));
    CHILD_FORKED(hora_registration_cancel(registration, true));
    CHILD_CHECK(hora_registration_future(registration) == NULL);
    CHILD_CHECK(strcmp(hora_registration_name(registration), "tick") == 0); /* these never change */
    CHILD_CHECK(hora_registration_describe(registration, text, sizeof text) > 0);
}

static int succeed(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

/* The child's own registrars work; one that starts no thread, also under ThreadSanitizer. */
static void use_new_registrar(struct family *family)
{
    hora_registrar *registrar;

    CHILD_CHECK(hora_registrar_new(NULL, &registrar, NULL) == 0);
    CHILD_CHECK(hora_registrar_bind(registrar, family->o.s.scheduler, NULL) == HORA_EFORKED);
    CHILD_CHECK(hora_registrar_add(registrar, HORA_TASK(succeed, NULL), HORA_DECLARATION(.fixed_rate = 1),
                                   NULL, NULL) == 0);
    CHILD_CHECK(hora_registrar_free(registrar) == 0);
}

static void use_all(struct family *family)
{
    call_registrar(family->o.registrar, family);
    call_registrar(family->unbound, family);
    call_handle(family->bound);
    call_handle(family->disabled);
    call_handle(family->declared);
    CHILD_CHECK(hora_registrar_bind(NULL, NULL, NULL) == HORA_EINVAL);
    use_new_registrar(family);
}

TEST_REAL(registrar_refuses_every_call_after_fork, "")
{
    struct family family = {.first = {.runs = 0}, .third = A_TICK(&family.o.s)};

    office_open(&family.o, 1);
    family.bound = DECLARE(&family.o, &family.first, .fixed_rate = SEC(1), .initial_delay = SEC(1));
    family.disabled = DECLARE(&family.o, &family.second, .cron = "-");
    office_bind(&family.o);
    CHECK_OK(hora_registrar_new(NULL, &family.unbound, NULL));
    CHECK_OK(hora_registrar_add(family.unbound, HORA_TASK(succeed, NULL, .name = "tick"),
                                HORA_DECLARATION(.initial_delay = 1), &family.declared, NULL));
    stage_settle(&family.o.s);
    in_child(use_all, &family);
    stage_pass(&family.o.s, 2); /* the parent has noticed nothing */
    CHECK_STARTS(&family.first, 1, 2);
    CHECK_OK(hora_registrar_free(family.unbound));
    office_close(&family.o);
}
