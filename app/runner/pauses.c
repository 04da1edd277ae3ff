/* SPDX-License-Identifier: Apache-2.0 */
/* pauses.c - since when jobs are paused, and who paused them
 *
 * The store knows that the task of a job is paused, but neither since when nor by whom. A note in the same
 * store says that, so that all nodes know it, also after a restart. The note is a task with the key
 * NAMESPACE!paused/JOB, whose payload is {"since": TIME, "by": USER}. It has no time and no handler, so no
 * node ever runs it.
 *
 * INVARIANTS
 *
 *   N1  A note is put after its job was paused, and removed before it is resumed. So a job that has a note is
 *       paused, unless it was removed from the files and has come back since; list_jobs in commands.c finds
 *       such notes. A job without a note may be paused, by a runner that was killed at that moment. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

#define HANDLER_NOTE "hora-note"

enum { ENTRY_SIZE = 64 * 1024 };

/* The key of the note of a job; without a job, that with which all begin. The caller frees it. */
static char *note_key(const struct runner *runner, const char *job)
{
    return text_format("%s!paused/%s", runner->namespace, job != NULL ? job : "");
}

/* Returns the name of a user, or its number if it has none. The caller frees it. */
static char *user_name(uid_t uid)
{
    struct passwd entry, *found = NULL;
    char *texts = memory(ENTRY_SIZE);
    (void)getpwuid_r(uid, &entry, texts, ENTRY_SIZE, &found);
    char *name = found != NULL ? text_copy(found->pw_name) : text_format("uid %lu", (unsigned long)uid);
    free(texts);
    return name;
}

int pause_put(const struct runner *runner, const char *job, hora_instant since, uid_t by, hora_error *reason)
{
    char *user = user_name(by), *key = note_key(runner, job);
    json_t *note = json_pack("{s:o, s:s}", "since", json_instant(since), "by", user);
    char *text = note != NULL ? json_dumps(note, JSON_COMPACT) : NULL;
    int error = HORA_ENOMEM;
    if (text != NULL)
        error = hora_store_put(runner->store,
                               HORA_DURABLE_TASK(.handler = HANDLER_NOTE, .key = key,
                                                 .if_exists = HORA_IF_EXISTS_REPLACE, .at = {JOB_PARKED},
                                                 .payload = text, .payload_size = strlen(text)),
                               NULL, reason);
    json_decref(note);
    free(text);
    free(key);
    free(user);
    return error;
}

int pause_remove(const struct runner *runner, const char *job, hora_error *reason)
{
    char *key = note_key(runner, job);
    int error = hora_store_cancel(runner->store, key, 0, reason);
    free(key);
    return error < 0 ? error : 0;
}

static int add_note(const hora_durable_info *info, void *arg)
{
    const char *job = strrchr(info->key, '/') + 1; /* no name of a job has a / */
    json_t *note = json_loadb(info->payload, info->payload_size, 0, NULL);
    if (json_is_object(note))
        json_object_set(arg, job, note);
    json_decref(note);
    return 0;
}

int pauses_read(const struct runner *runner, const char *job, json_t *ret_notes, hora_error *reason)
{
    char *key = note_key(runner, job);
    int error = hora_store_list(
        runner->store,
        HORA_DURABLE_FILTER(.key = job != NULL ? key : NULL, .key_prefix = job != NULL ? NULL : key),
        add_note, ret_notes, reason);
    free(key);
    return error;
}
