/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - print the help of a command */
#ifndef APP_HELP_H
#define APP_HELP_H

/* Prints a help to standard output. If that is a terminal which is narrower than the text, paragraphs are
 * broken anew; otherwise, as for the completions of shells, which read it, it is printed as it is. */
void help_print(const char *help);

#endif
