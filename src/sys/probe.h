/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - static probes: points that tools such as bpftrace, perf and SystemTap find by name
 *
 *     HORA__PROBE(task_start, future, name);
 *
 * How it works      A probe is one instruction that does nothing, and a note in the executable with the
 *                   position of the instruction and of its arguments. A tool that attaches puts a
 *                   breakpoint there. Arguments are evaluated even if no tool is attached, so pass only
 *                   values that are at hand. The header comes from Debian's systemtap-sdt-dev and is not
 *                   needed at run time. In builds without it, and in the simulator, a probe expands to
 *                   nothing.
 *
 * Each name occurs once in the program, in a function that is not inlined into several: perf cannot attach
 * otherwise. docs/guide/seeing.md lists all probes with their arguments; tests/tools/probes checks the
 * list. */
#ifndef HORA_SYS_PROBE_H
#define HORA_SYS_PROBE_H

#if defined(HORA_PROBES) && !defined(HORA_SIM)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#if defined(__clang__) /* that header uses a variadic macro that may get no arguments */
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
