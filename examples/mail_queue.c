/* SPDX-License-Identifier: Apache-2.0 */
/* mail_queue.c - a mail queue that survives kill -9
 *
 *     mail_queue ADDRESS send TO SUBJECT <text      put a mail into the queue
 *     mail_queue ADDRESS deliver FOLDER             deliver mails until the queue is empty
 *     mail_queue ADDRESS count                      print how many mails wait
 *
 * ADDRESS is a store, such as sqlite:mail.db, or postgres://host/database for several machines. A mail is in
 * the queue when `send` exits with 0. If `deliver` is killed, the next one continues where it was.
 *
 * hora runs a task at least once, so a mail can be delivered again after a crash. Here a mail becomes a file
 * whose name is the idempotency key of the task. Writing it again does no harm: the folder has each mail
 * once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hora/hora.h>
#include <hora/store.h>

static int fail(const char *what, const hora_error *error)
{
    fprintf(stderr, "mail_queue: %s: %s\n", what, error->message);
    return 1;
}

static int send_mail(hora_store *store, const char *to, const char *subject)
{
    static char mail[64 * 1024];
    hora_error error;
    int head = snprintf(mail, sizeof mail, "To: %s\nSubject: %s\n\n", to, subject);
    if (head < 0 || (size_t)head >= sizeof mail) {
        fputs("mail_queue: the header is too long\n", stderr);
        return 1;
    }
    size_t size = (size_t)head + fread(mail + head, 1, sizeof mail - (size_t)head, stdin);
    if (hora_store_put(
            store,
            HORA_DURABLE_TASK(.handler = "deliver", .payload = mail, .payload_size = size, .max_attempts = 5),
            NULL, &error) < 0)
        return fail("cannot queue the mail", &error);
    return 0;
}

/* Writes one mail. A rename puts it into place as a whole. */
static int deliver(const hora_run *run, void *folder)
{
    char path[512], draft[sizeof path + 32];
    snprintf(path, sizeof path, "%s/%s.eml", (const char *)folder, run->idempotency_key);
    snprintf(draft, sizeof draft, "%s.%lld.tmp", path, (long long)run->fence);
    FILE *file = fopen(draft, "w");
    if (file == NULL)
        return HORA_EIO;
    size_t written = fwrite(run->payload, 1, run->payload_size, file);
    if (fclose(file) != 0 || written != run->payload_size || rename(draft, path) != 0) {
        unlink(draft);
        return HORA_EIO; /* the store tries again, after a pause */
    }
    return 0;
}

static int deliver_all(hora_store *store, char *folder)
{
    hora_durable *durable;
    hora_error error;
    if (hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2, .lease = HORA_SECONDS(1)), &durable,
                         &error) < 0)
        return fail("cannot deliver", &error);
    hora_store_stats left = HORA_INIT(hora_store_stats);
    int status = 0;
    if (hora_durable_add_handler(durable, "deliver", deliver, folder, NULL, &error) < 0 ||
        hora_durable_start(durable, &error) < 0)
        status = fail("cannot deliver", &error);
    /* Mails of a process that was killed are still claimed. They come back when its lease has ended. */
    while (status == 0) {
        if (hora_durable_await_idle(durable, HORA_SECONDS(60)) < 0 ||
            hora_store_get_stats(store, &left, &error) < 0)
            status = 1;
        else if (left.waiting == 0 && left.claimed == 0)
            break;
        else if (hora_sleep(HORA_MS(50)) < 0)
            status = 1;
    }
    if (hora_durable_stop(durable, HORA_SECONDS(5), &error) < 0)
        status = fail("cannot stop", &error);
    hora_durable_free(durable);
    return status;
}

static int count(hora_store *store)
{
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    hora_error error;
    if (hora_store_get_stats(store, &stats, &error) < 0)
        return fail("cannot count", &error);
    printf("%lld\n", (long long)(stats.waiting + stats.claimed));
    return 0;
}

int main(int argc, char **argv)
{
    hora_store *store;
    hora_error error;
    int status = 2;
    if (argc < 3) {
        fputs("usage: mail_queue ADDRESS send TO SUBJECT | deliver FOLDER | count\n", stderr);
        return status;
    }
    if (hora_store_open(argv[1], NULL, &store, &error) < 0)
        return fail("cannot open the queue", &error);
    if (argc == 5 && strcmp(argv[2], "send") == 0)
        status = send_mail(store, argv[3], argv[4]);
    else if (argc == 4 && strcmp(argv[2], "deliver") == 0)
        status = deliver_all(store, argv[3]);
    else if (argc == 3 && strcmp(argv[2], "count") == 0)
        status = count(store);
    else
        fputs("usage: mail_queue ADDRESS send TO SUBJECT | deliver FOLDER | count\n", stderr);
    hora_store_close(store);
    return status;
}
