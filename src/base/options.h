/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - read option structs and write output structs of programs compiled against another release
 *
 * Every such struct starts with struct_size, a uint32_t that tells how much of the struct the caller knows.
 * Structs only grow at their end. So an older program passes a prefix of the current struct, whose missing
 * fields count as 0, and a newer program passes more than this library knows. */
#ifndef HORA_BASE_OPTIONS_H
#define HORA_BASE_OPTIONS_H

#include <stddef.h>

/* The size that a struct has if `last` is its last field, including the padding behind it. */
#define HORA__SIZE_UP_TO(type, last)                                                            \
    ((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) / _Alignof(type) * \
     _Alignof(type))

/* Copies *given into *own and sets the fields that the caller does not know to 0. *own has `size` bytes, of
 * which the first release had `first_size`. A `given` of NULL sets all of *own to 0. Returns HORA_EINVAL if
 * struct_size is smaller than in the first release, or if the caller's struct is larger than *own and has a
 * nonzero byte in the part that this library does not know: the caller would ask for something that this
 * library cannot do. */
__attribute__((warn_unused_result)) int hora__options_copy(void *own, size_t size, size_t first_size,
                                                           const void *given);

/* Stores the size of the caller's output struct, which is also the stride of an array of them. Returns
 * HORA_EINVAL for NULL or for an impossible size: the caller did not initialise the struct with HORA_INIT. */
__attribute__((warn_unused_result)) int hora__output_size(const void *given, size_t first_size,
                                                          size_t *ret_size);

/* Writes *own, which has `size` bytes, into the caller's struct of given_size bytes: the part that both know,
 * then zeros. Keeps the caller's struct_size. */
void hora__output_write(void *given, size_t given_size, const void *own, size_t size);

/* Sizes of the structs in the first release.
 *
 * A program compiled against the first release passes structs of those sizes and must work with every later
 * library. So a new field starts beyond the old sizeof and never in the padding, which an old program does
 * not initialise. The names below are the last fields of the first release and never change. */
/* Inputs: the caller fills these structs. */
#define HORA__LAST_hora_admission                ageing
#define HORA__LAST_hora_calendar_options         window_count
#define HORA__LAST_hora_class_options            per
#define HORA__LAST_hora_context_hooks            arg
#define HORA__LAST_hora_cron_options             dst
#define HORA__LAST_hora_cron_trigger_options     resume_from
#define HORA__LAST_hora_declaration              schedule
#define HORA__LAST_hora_group_options            cancel_on_failure
#define HORA__LAST_hora_latch_options            clock
#define HORA__LAST_hora_listener                 arg
#define HORA__LAST_hora_metrics                  max_names
#define HORA__LAST_hora_periodic_trigger_options initial_delay
#define HORA__LAST_hora_pool_options             dump_arg
#define HORA__LAST_hora_queue_options            ref
#define HORA__LAST_hora_registrar_options        arg
#define HORA__LAST_hora_schedule                 options
#define HORA__LAST_hora_scheduler_options        dump_arg
#define HORA__LAST_hora_task_options             context
#define HORA__LAST_hora_trigger_context          runs
#define HORA__LAST_hora_virtual_clock_options    wall
#define HORA__LAST_hora_watchdog                 late_after
#define HORA__LAST_hora_zone_options             folder

/* Outputs: hora fills these structs. */
#define HORA__LAST_hora_class_info    started
#define HORA__LAST_hora_counts        latest
#define HORA__LAST_hora_distribution  p999
#define HORA__LAST_hora_outcome       failures
#define HORA__LAST_hora_pool_stats    continue_periodic
#define HORA__LAST_hora_schedule_info skipped
#define HORA__LAST_hora_worker_info   runs

#define HORA__FIRST_SIZE(type) HORA__SIZE_UP_TO(type, HORA__LAST_##type)

/* hora__options_copy for a type of the first list. */
#define HORA__TAKE(type, own, given) hora__options_copy((own), sizeof(type), HORA__FIRST_SIZE(type), (given))

/* hora__output_size for a type of the second list. */
#define HORA__SIZE_GIVEN(type, given, ret_size) hora__output_size((given), HORA__FIRST_SIZE(type), (ret_size))

#endif
