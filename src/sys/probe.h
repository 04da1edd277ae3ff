/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - static probes: places in the program that tools such as bpftrace, perf and SystemTap find by their names
 *
 *     HORA__PROBE(task_start, future, name);
 *
 * How it works      Each is one instruction that does nothing, and a note in the file of the program that says where it stands and where its
 *                   arguments are then. So an argument should be at hand already. A tool that attaches puts a breakpoint there. The
 *                   header is Debian's systemtap-sdt-dev; nothing of it is needed when the program runs. Built without it, and in
 *                   the simulator, a probe is nothing at all.
 *
 * Each name stands once in the program, in a function that is not inlined into several: perf cannot attach otherwise.
 * docs/guide/seeing.md lists them with their arguments; whoever adds one writes it there, where tests/tools/probes finds it. */
#ifndef HORA_SYS_PROBE_H
#define HORA_SYS_PROBE_H

#if defined(HORA_PROBES) && !defined(HORA_SIM)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#if defined(__clang__) /* that header counts arguments by a macro that may be given none */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#if __has_warning("-Wc23-extensions") /* its newer name */
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#endif
#define HORA__PROBE(name, ...) STAP_PROBEV(hora, name, __VA_ARGS__)
#else
#define HORA__PROBE(name, ...) ((void)0)
#endif

#endif
