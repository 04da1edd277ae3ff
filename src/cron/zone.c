/* SPDX-License-Identifier: Apache-2.0 */
/* zone.c - time zones: names, files, and refreshing
 *
 * Names             As in Java's ZoneId.of: "Z", then an offset, then UTC, GMT or UT with or without an
 *                   offset; any other name is a file of the database. The allowed characters keep a name
 *                   inside the database's folder.
 * Refreshing        The rules are one pointer, which a refresh replaces. hora cannot know which threads
 *                   still read the old rules, so they stay until the zone is freed; that costs little, since
 *                   a database changes a few times a year. A refresh loads the pointer, reads the file and
 *                   replaces the pointer if it has not changed since; else it starts again. So older
 *                   contents never replace newer ones.
 * Invariants        Z1 the rules of a zone with a path come from that file, or, for "local" without a
 *                   file, are UTC's. */
#include "cron/zone.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "sys/alloc.h"
#include "sys/file.h"

/* The longest name, in bytes. */
enum { MOST_NAME = 255 };

/* The file of the zone "local". */
static const char local_path[] = "/etc/localtime";

static const char no_name[] = "this is not a zone name";

const struct hora__spans *hora__zone_spans(const hora_zone *zone)
{
    return zone == NULL ? hora__spans_utc() : hora__atomic_pointer_load(&zone->spans);
}

/* ---- the object ---- */

/* Returns a copy of a string, which the caller frees; NULL: no memory. */
static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hora__alloc_dirty(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* Frees rules and all older rules that they have replaced. */
static void free_spans(struct hora__spans *spans)
{
    while (spans != NULL) {
        struct hora__spans *older = spans->older;
        hora__free(spans);
        spans = older;
    }
}

/* Frees a zone, which may lack its name or path if making it has failed. */
static void free_zone(hora_zone *zone)
{
    free_spans(hora__atomic_pointer_load(&zone->spans));
    hora__free(zone->path);
    hora__free(zone->name);
    hora__free(zone);
}

/* Makes a zone with one reference. Takes over the spans, even if it fails. The path may be NULL.
 * HORA_ENOMEM. */
static int make_zone(const char *name, const char *path, struct hora__spans *spans, hora_zone **ret_zone)
{
    assert(name != NULL && spans != NULL);
    hora_zone *zone = hora__alloc(1, sizeof *zone);
    if (zone == NULL) {
        free_spans(spans);
        return HORA_ENOMEM;
    }
    hora__atomic_init(&zone->refs, 1);
    hora__atomic_pointer_init(&zone->spans, spans);
    /* From here on free_zone cleans up, also after a partial failure. */
    zone->name = copy_text(name);
    zone->path = path == NULL ? NULL : copy_text(path);
    if (zone->name == NULL || (path != NULL && zone->path == NULL)) {
        free_zone(zone);
        return HORA_ENOMEM;
    }
    *ret_zone = zone;
    return 0;
}

hora_zone *hora_zone_ref(hora_zone *zone)
{
    if (zone == NULL)
        return NULL;
    int32_t before = hora__atomic_add(&zone->refs, 1);
    assert(before > 0);
    (void)before;
    return zone;
}

/* The last reference frees the zone with all rules that it ever had. */
hora_zone *hora_zone_unref(hora_zone *zone)
{
    if (zone == NULL)
        return NULL;
    int32_t before = hora__atomic_add(&zone->refs, -1);
    assert(before > 0);
    if (before == 1)
        free_zone(zone);
    return NULL;
}

const char *hora_zone_name(const hora_zone *zone)
{
    return zone == NULL ? "UTC" : zone->name;
}

bool hora_zone_is_fixed(const hora_zone *zone)
{
    return hora__spans_is_fixed(hora__zone_spans(zone));
}

/* ---- files ---- */

/* Reads and parses a zone file. Returns 0 or an error; for a bad file *ret_reason says why. */
static int load_file(const char *path, struct hora__spans **ret_spans, const char **ret_reason)
{
    void *data;
    size_t size;
    int error = hora__file_read(path, HORA__TZIF_MOST, &data, &size);
    if (error < 0)
        return error;
    error = hora__tzif_read(data, size, ret_spans, ret_reason);
    hora__free(data);
    return error;
}

/* Reads the rules of a zone from its file. A machine without /etc/localtime is on UTC (Z1). */
static int load(const char *path, struct hora__spans **ret_spans, const char **ret_reason)
{
    assert(path != NULL);
    int error = load_file(path, ret_spans, ret_reason);
    if (error == HORA_ENOENT && strcmp(path, local_path) == 0)
        return hora__spans_fixed(0, "UTC", ret_spans);
    return error;
}

/* Makes a zone from a file. */
static int load_zone(const char *name, const char *path, hora_zone **ret_zone, const char **ret_reason)
{
    struct hora__spans *spans;
    int error = load(path, &spans, ret_reason);
    return error < 0 ? error : make_zone(name, path, spans, ret_zone);
}

/* Makes a zone from the file of this name in a folder. HORA_ENOENT: the folder has no such file. */
static int load_from(const char *folder, const char *name, hora_zone **ret_zone, const char **ret_reason)
{
    size_t size = strlen(folder) + 1 + strlen(name) + 1;
    char *path = hora__alloc_dirty(size);
    if (path == NULL)
        return HORA_ENOMEM;
    (void)snprintf(path, size, "%s/%s", folder, name);
    int error = load_zone(name, path, ret_zone, ret_reason);
    hora__free(path);
    return error;
}

/* Makes a zone from the first of the usual folders that has the file. */
static int load_from_system(const char *name, hora_zone **ret_zone, const char **ret_reason)
{
    static const char *const folders[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                          "/usr/share/lib/zoneinfo", "/etc/zoneinfo"};
    int error = HORA_ENOENT;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && error == HORA_ENOENT; i++)
        error = load_from(folders[i], name, ret_zone, ret_reason);
    return error;
}

/* ---- names ---- */

/* Returns whether a byte may occur in the name of a file of the database. */
static bool is_name_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_+-./~", c) != NULL);
}

/* Returns whether a name can be a file inside the database's folder. */
static bool is_file_name(const char *name)
{
    /* The start of the name counts as the start of a part. */
    char before = '/';
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        char c = name[length];
        if (length == MOST_NAME || !is_name_character(c))
            return false;
        /* An empty part, a hidden one, or one that leads out of the folder. */
        if (before == '/' && (c == '/' || c == '.'))
            return false;
        before = c;
    }
    return length > 0 && before != '/';
}

/* Makes a zone with a fixed offset. */
static int make_fixed(const char *name, int32_t offset, hora_zone **ret_zone)
{
    assert(name[0] != '\0');
    struct hora__spans *spans;
    int error = hora__spans_fixed(offset, name, &spans);
    if (error == 0)
        error = make_zone(name, NULL, spans, ret_zone);
    if (error == 0)
        (*ret_zone)->is_offset = true;
    return error;
}

/* Returns the length of UTC, GMT or UT at the start of a name if nothing or an offset follows, else 0. */
static size_t prefix_length(const char *name)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0 &&
            (name[length] == '\0' || name[length] == '+' || name[length] == '-'))
            return length;
    }
    return 0;
}

/* Returns whether a name is meant as a fixed offset: "Z", or one that starts with a sign or a prefix. If
 * so, *ret_error is the result of making the zone, HORA_EINVAL if the offset is invalid. The zone gets its
 * name in normal form: "Z" for +00:00, "UTC" for UTC+0, "+05:30" for +0530. */
static bool is_offset_name(const char *name, hora_zone **ret_zone, int *ret_error)
{
    size_t prefix = prefix_length(name);
    bool is_z = strcmp(name, "Z") == 0;
    if (prefix == 0 && !is_z && name[0] != '+' && name[0] != '-')
        return false;
    int32_t offset = 0;
    char normal[3 + HORA__OFFSET_TEXT];
    const char *rest = name + prefix;
    *ret_error = HORA_EINVAL;
    if (!is_z && rest[0] != '\0' && !hora__offset_parse(rest, strlen(rest), &offset))
        return true;
    /* The prefix stays; the offset behind it is written in normal form, and left out if it is 0. */
    memcpy(normal, name, prefix);
    normal[prefix] = '\0';
    if (prefix == 0 || offset != 0)
        (void)hora__offset_format(offset, normal + prefix);
    *ret_error = make_fixed(normal, offset, ret_zone);
    return true;
}

/* Makes a zone by its name. On error, *ret_reason is a static sentence, or stays NULL if the code says
 * enough. */
static int new_zone(const char *name, const hora_zone_options *given, hora_zone **ret_zone,
                    const char **ret_reason)
{
    hora_zone_options options;
    int error = HORA__TAKE(hora_zone_options, &options, given);
    if (error < 0)
        return error;
    /* Java's order: an offset, then "local", which is hora's own, then the database. */
    if (is_offset_name(name, ret_zone, &error)) {
        if (error == HORA_EINVAL)
            *ret_reason = "this is not an offset: it should look like +05:30 and be at most 18 hours";
        return error;
    }
    if (strcmp(name, "local") == 0)
        return load_zone(name, local_path, ret_zone, ret_reason);
    if (!is_file_name(name)) {
        *ret_reason = no_name;
        return HORA_EINVAL;
    }
    error = options.folder != NULL ? load_from(options.folder, name, ret_zone, ret_reason)
                                   : load_from_system(name, ret_zone, ret_reason);
    if (error == HORA_ENOENT)
        *ret_reason = "the database has no such zone";
    return error;
}

/* Writes the reason for an error and returns the error. `what` is a static sentence, or NULL. */
static int finish(int error, const char *name, const char *what, hora_error *reason)
{
    if (error < 0 && error != HORA_ENOMEM && what != NULL)
        return hora__refuse(reason, error, "zone", "zone \"%.80s\": %s", name, what);
    return hora__reason_end(reason, error);
}

int hora_zone_new(const char *name, const hora_zone_options *options, hora_zone **ret_zone,
                  hora_error *reason)
{
    hora__reason_begin(reason);
    if (name == NULL || ret_zone == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "name or ret_zone is NULL");
    const char *what = NULL;
    int error = new_zone(name, options, ret_zone, &what);
    return finish(error, name, what, reason);
}

/* The zone has no path, so refreshing it never changes its rules. */
int hora_zone_from_data(const char *name, const void *data, size_t size, hora_zone **ret_zone,
                        hora_error *reason)
{
    hora__reason_begin(reason);
    if (name == NULL || data == NULL || ret_zone == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "name, data or ret_zone is NULL");
    if (name[0] == '\0' || strlen(name) > MOST_NAME)
        return finish(HORA_EINVAL, name, no_name, reason);
    struct hora__spans *spans;
    const char *what = NULL;
    int error = hora__tzif_read(data, size, &spans, &what);
    if (error == 0)
        error = make_zone(name, NULL, spans, ret_zone);
    return finish(error, name, what, reason);
}

/* The loop runs again only if another thread has refreshed the zone at the same time. */
int hora_zone_refresh(hora_zone *zone)
{
    if (zone == NULL)
        return HORA_EINVAL;
    if (zone->path == NULL)
        return 0;
    for (;;) {
        struct hora__spans *old = hora__atomic_pointer_load(&zone->spans), *new;
        const char *reason;
        int error = load(zone->path, &new, &reason);
        if (error < 0)
            return error;
        if (HORA__FAULT(ZONE_GOES_BACK))
            old = hora__atomic_pointer_load(&zone->spans);
        /* The file has not changed. Comparing the rules avoids keeping equal tables. */
        if (hora__spans_equal(old, new)) {
            hora__free(new);
            return 0;
        }
        /* Keeps the old rules reachable, to be freed with the zone: a reader may still be using them. */
        new->older = old;
        if (hora__atomic_pointer_cas(&zone->spans, old, new))
            return 1;
        hora__free(new);
    }
}
