/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - a terminal that is redrawn and whose keys are read one by one */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "output.h"

enum { LINES_DEFAULT = 24, COLUMNS_DEFAULT = 80 };

static struct termios before; /* the state that terminal_close restores */
static bool keys_are_raw;     /* `before` is valid, and keys are read one by one */
static bool is_open;          /* between terminal_open and terminal_close */
static atomic_int is_to_end;  /* 1: a signal demands that the program ends */

/* The signal handler. */
static void end(int number)
{
    (void)number;
    is_to_end = 1;
}

bool terminal_is_there(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

/* Installs the handler for the signals that end the program. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    (void)sigemptyset(&action.sa_mask);
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &action, NULL);
}

void terminal_open(void)
{
    catch_signals();
    if (!terminal_is_there())
        return;
    is_open = true;
    keys_are_raw = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before) == 0;
    if (keys_are_raw) {
        struct termios raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* no lines, no echo; signals from keys still work */
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    output_text("\033[?1049h\033[?25l"); /* alternate screen, no cursor */
}

void terminal_close(void)
{
    if (!is_open)
        return;
    is_open = false;
    output_text("\033[?25h\033[?1049l");
    (void)output_flush();
    if (keys_are_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void terminal_size(int *ret_lines, int *ret_columns)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *ret_lines = known ? size.ws_row : LINES_DEFAULT;
    *ret_columns = known ? size.ws_col : COLUMNS_DEFAULT;
}

int terminal_key(int milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    nfds_t count = keys_are_raw ? 1 : 0;
    int ready = is_to_end ? 0 : poll(&input, count, milliseconds);
    if (is_to_end)
        return -1;
    char key;
    return ready > 0 && read(STDIN_FILENO, &key, 1) == 1 ? (unsigned char)key : 0;
}
