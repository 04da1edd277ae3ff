/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - a terminal that is redrawn and whose keys are read one by one
 *
 * Signal handlers only set a flag. The signal also ends the poll of terminal_key, which then acts. */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "output.h"

enum { LINES_DEFAULT = 24, COLUMNS_DEFAULT = 80, SEQUENCE_MS = 25 };

static struct termios before;  /* the state that terminal_close restores */
static bool keys_are_raw;      /* `before` is valid, and keys are read one by one */
static bool has_screen;        /* the alternate screen is used between terminal_open and terminal_close */
static bool is_open;           /* between terminal_open and terminal_close */
static atomic_int is_to_end;   /* 1: a signal demands that the program ends */
static atomic_int is_to_stop;  /* 1: a signal demands that the program stops until SIGCONT */
static atomic_int has_resized; /* 1: the size has changed */

static void demand_end(int number)
{
    (void)number;
    is_to_end = 1;
}

static void demand_stop(int number)
{
    (void)number;
    is_to_stop = 1;
}

static void note_size(int number)
{
    (void)number;
    has_resized = 1;
}

bool terminal_is_there(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
}

bool terminal_has_colour(void)
{
    const char *wish = getenv("NO_COLOR");
    return wish == NULL || *wish == '\0';
}

bool terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (locale != NULL && *locale != '\0') /* the first one that is set decides */
            return strstr(locale, "UTF-8") != NULL || strstr(locale, "utf8") != NULL ||
                   strstr(locale, "utf-8") != NULL || strstr(locale, "UTF8") != NULL;
    }
    return false;
}

static void catch (int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

/* Switches to the alternate screen and to raw keys. */
static void enter(void)
{
    keys_are_raw = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before) == 0;
    if (keys_are_raw) {
        struct termios raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* no lines, no echo; signals from keys still work */
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    output_text("\033[?1049h\033[?25l\033[?7l\033[2J"); /* alternate screen, no cursor, no wrapping; clear */
}

/* Returns to the state before enter. */
static void leave(void)
{
    output_text("\033[0m\033[?7h\033[?25h\033[?1049l");
    (void)output_flush();
    if (keys_are_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    keys_are_raw = false;
}

void terminal_open(bool wants_screen)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        catch (ends[i], demand_end);
    is_open = true;
    has_screen = wants_screen;
    if (!has_screen)
        return;
    catch (SIGTSTP, demand_stop);
    catch (SIGWINCH, note_size);
    (void)atexit(terminal_close);
    enter();
}

void terminal_close(void)
{
    if (is_open && has_screen)
        leave();
    is_open = false;
}

void terminal_size(int *ret_lines, int *ret_columns)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *ret_lines = known ? size.ws_row : LINES_DEFAULT;
    *ret_columns = known ? size.ws_col : COLUMNS_DEFAULT;
}

/* Stops the program as SIGTSTP would have done, with the terminal restored. Returns when it continues. */
static void stop(void)
{
    leave();
    (void)raise(SIGSTOP);
    enter();
}

/* Reads the rest of a control sequence: keys such as arrows send ESC [ A, or ESC O A. Its bytes arrive
 * together, or soon after each other. Returns the key; ESC if nothing follows. */
static int read_sequence(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (poll(&input, 1, SEQUENCE_MS) <= 0 || read(STDIN_FILENO, &bytes[i], 1) != 1)
            return i == 0 ? '\033' : TERMINAL_NO_KEY;
    bool is_arrow = bytes[0] == '[' || bytes[0] == 'O';
    return is_arrow && bytes[1] == 'A'   ? TERMINAL_UP
           : is_arrow && bytes[1] == 'B' ? TERMINAL_DOWN
                                         : TERMINAL_NO_KEY;
}

int terminal_key(int milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool has_to_act = is_to_end || is_to_stop || has_resized;
    int ready = has_to_act ? 0 : poll(&input, keys_are_raw ? 1 : 0, milliseconds);
    if (is_to_end)
        return TERMINAL_END;
    if (atomic_exchange(&is_to_stop, 0)) {
        stop();
        return TERMINAL_REDRAW;
    }
    if (atomic_exchange(&has_resized, 0))
        return TERMINAL_REDRAW;
    if (ready <= 0)
        return TERMINAL_NO_KEY;
    unsigned char key;
    ssize_t count = read(STDIN_FILENO, &key, 1);
    if (count == 1)
        return key == '\033' ? read_sequence() : key;
    /* The terminal has gone: poll would report this again at once. */
    bool is_gone = (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0 || (count < 0 && errno != EINTR);
    return is_gone ? TERMINAL_END : TERMINAL_NO_KEY;
}
