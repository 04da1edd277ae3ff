/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - a program outside of the repository; compiles as C17 and as C++17 */
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

int main(void)
{
    hora_queue_options options = HORA_INIT(hora_queue_options);
    hora_queue *queue;
    void *item;
    static char text[] = "hora";

    options.clock = hora_clock_system(HORA_CLOCK_MONOTONIC);
    if (hora_queue_new_array(1, &options, &queue, NULL) < 0)
        return 1;
    if (hora_queue_put(queue, text) < 0 || hora_queue_take(queue, &item) < 0 || item != text)
        return 2;
    if (hora_queue_poll(queue, &item) != HORA_EEMPTY)
        return 3;
    if (strcmp(hora_version(), HORA_VERSION_STRING) != 0)
        return 4;
    printf("%s %s\n", (char *)text, hora_version());
    return hora_queue_free(queue) < 0 ? 5 : 0;
}
