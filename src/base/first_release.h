/* SPDX-License-Identifier: Apache-2.0 */
/* first_release.h - how large the structs that cross the boundary were in the first release
 *
 * A program that was compiled against the first release passes structs of that size, and goes on to work with every later library. So a
 * struct only grows at its end, and a new field begins beyond the old sizeof, not in the padding: a program of then does
 * not initialise that. The names below are the last fields that the structs had, and never change. */
#ifndef HORA_BASE_FIRST_RELEASE_H
#define HORA_BASE_FIRST_RELEASE_H

#include "base/options.h"

/* Read by callers of hora: inputs */
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

/* Written for callers of hora: outputs */
#define HORA__LAST_hora_class_info    started
#define HORA__LAST_hora_counts        latest
#define HORA__LAST_hora_distribution  p999
#define HORA__LAST_hora_outcome       failures
#define HORA__LAST_hora_pool_stats    continue_periodic
#define HORA__LAST_hora_schedule_info skipped
#define HORA__LAST_hora_worker_info   runs

#define HORA__FIRST_SIZE(type) HORA__SIZE_UP_TO(type, HORA__LAST_##type)

/* hora__options_copy and hora__output_size for a type. */
#define HORA__TAKE(type, own, given)            hora__options_copy((own), sizeof(type), HORA__FIRST_SIZE(type), (given))
#define HORA__SIZE_GIVEN(type, given, ret_size) hora__output_size((given), HORA__FIRST_SIZE(type), (ret_size))

#endif
