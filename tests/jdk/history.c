/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - hora's answers to histories
 *
 *     history --generate SEED COUNT      print histories
 *     history <HISTORIES                 answer them, one line per line
 *
 * history.h describes both texts; History.java is the same program for the JDK. Workers attach to a virtual
 * clock, which knows when all of them have ended or wait. So nothing here depends on time. */
#include "history.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

struct worker {
    bool busy;
    bool
        ended; /* written by the worker before it detaches from the clock, read after the clock has settled */
    pthread_t thread;
    hora_thread *handle;
    struct subject *subject;
    struct call call;
    struct answer answer;
};

static void stop(const char *reason)
{
    fprintf(stderr, "history: %s\n", reason);
    exit(2);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    if (hora_virtual_clock_attach(w->subject->clock) < 0 || hora_thread_self(&w->handle) < 0)
        stop("a worker could not attach to the clock");
    perform(w->subject, &w->call, &w->answer);
    w->ended = true;
    return NULL;
}

static void start_worker(struct worker *w, struct subject *subject, const struct call *call)
{
    *w = (struct worker){.busy = true, .subject = subject, .call = *call};
    if (hora_virtual_clock_expect(subject->clock, 1) < 0 || pthread_create(&w->thread, NULL, work, w) != 0)
        stop("a worker could not be started");
}

/* Adds the answers of the workers that have ended. */
static void collect_workers(struct subject *subject, struct worker *workers, struct answer *answer)
{
    if (hora_virtual_clock_settle(subject->clock) < 0)
        stop("the clock did not settle");
    for (int i = 0; i < MOST_WORKERS; i++) {
        struct worker *w = &workers[i];
        if (!w->busy || !w->ended)
            continue;
        say(answer, " | %d %s", i + 1, w->answer.text);
        pthread_join(w->thread, NULL);
        hora_thread_unref(w->handle);
        w->busy = false;
    }
}

static void interrupt_worker(struct worker *w, struct answer *answer)
{
    if (w->busy && hora_thread_interrupt(w->handle) < 0)
        stop("a worker could not be interrupted");
    say(answer, w->busy ? "ok" : "idle");
}

/* Splits "[WORKER:] OPERATION ARGUMENT..." and returns the worker's number, 0 for the main thread. */
static int parse_call(char *line, struct call *call)
{
    char *rest = NULL;
    char *word = strtok_r(line, " ", &rest);
    int worker = 0;
    if (word != NULL && word[strlen(word) - 1] == ':') {
        worker = (int)strtol(word, NULL, 10);
        word = strtok_r(NULL, " ", &rest);
    }
    *call = (struct call){0};
    if (word == NULL || worker < 0 || worker > MOST_WORKERS)
        stop("a line without an operation");
    snprintf(call->words[0], sizeof(call->words[0]), "%s", word);
    for (int i = 1; i < MOST_WORDS && (word = strtok_r(NULL, " ", &rest)) != NULL; i++) {
        snprintf(call->words[i], sizeof(call->words[i]), "%s", word);
        call->numbers[i] = strtoll(word, NULL, 10);
    }
    return worker;
}

static void answer_call(struct subject *subject, struct worker *workers, int number, const struct call *call)
{
    struct answer answer = {0};
    if (number > 0) {
        struct worker *w = &workers[number - 1];
        say(&answer, w->busy ? "busy" : "started");
        if (!w->busy)
            start_worker(w, subject, call);
    } else if (subject->with_workers && strcmp(call->words[0], "interrupt") == 0) {
        interrupt_worker(&workers[(call->numbers[1] - 1) % MOST_WORKERS], &answer);
    } else {
        perform(subject, call, &answer);
    }
    if (subject->with_workers)
        collect_workers(subject, workers, &answer);
    puts(answer.text);
}

static void answer_histories(void)
{
    static struct worker workers[MOST_WORKERS];
    struct subject *subject = NULL;
    char line[200];
    setvbuf(stdout, NULL, _IOLBF, 0); /* if an operation crashes, the answers before it are there */
    while (fgets(line, sizeof(line), stdin) != NULL) {
        struct call call;
        line[strcspn(line, "\n")] = '\0';
        int worker = parse_call(line, &call);
        if (strcmp(call.words[0], "history") == 0)
            subject = subject_new(&call);
        if (subject == NULL)
            stop("an operation before the first history");
        answer_call(subject, workers, worker, &call);
        if (strcmp(call.words[0], "end") == 0) {
            if (subject_free(subject) < 0)
                stop("an object could not be freed");
            subject = NULL;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--generate") == 0)
        generate_histories(strtoull(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    else if (argc == 1)
        answer_histories();
    else
        stop("usage: history [--generate SEED COUNT]");
    return fflush(stdout) == 0 ? 0 : 2;
}
