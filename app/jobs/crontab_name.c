/* SPDX-License-Identifier: Apache-2.0 */
/* crontab_name.c - names for the jobs of crontabs
 *
 * A job has the name of the program that its entry is about: of
 *
 *     [ -x /usr/bin/backup ] && nice -n 10 /usr/bin/backup --all >/dev/null 2>&1
 *
 * that is backup. The command is cut into simple commands at ; & and |. The first one that does something, apart
 * from tests and the like, gives the name: its first word that is not there to start another program. This is not
 * the grammar of the shell, and need not be: any name will do, as long as the same entry has the same name.
 *
 * Entries with the same program, and programs that a job file has as a job, get four digits of a hash of the
 * entry appended; so a name does not depend on the order of the entries. */
#include "jobs/schema.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { LONGEST_BASE = 60 };

/* What a word at the start of a simple command means for the name. */
enum role {
    PROGRAM,        /* it is the name */
    STARTER,        /* it starts the program that follows */
    STARTER_OF_ONE, /* the same, but an argument of its own comes first */
    INTERPRETER,    /* the name is that of the script that follows */
    ASIDE,          /* the simple command is not what the entry is about */
};

static enum role role_of(const char *word, size_t length)
{
    static const struct {
        const char *word;
        enum role role;
    } words[] = {
        {"if", STARTER},       {"then", STARTER},         {"do", STARTER},
        {"exec", STARTER},     {"nice", STARTER},         {"ionice", STARTER},
        {"nocache", STARTER},  {"env", STARTER},          {"sudo", STARTER},
        {"time", STARTER},     {"nohup", STARTER},        {"chronic", STARTER},
        {"setsid", STARTER},   {"flock", STARTER_OF_ONE}, {"timeout", STARTER_OF_ONE},
        {"perl", INTERPRETER}, {"python", INTERPRETER},   {"python3", INTERPRETER},
        {"php", INTERPRETER},  {"sh", INTERPRETER},       {"bash", INTERPRETER},
        {"ruby", INTERPRETER}, {"node", INTERPRETER},     {"[", ASIDE},
        {"[[", ASIDE},         {"test", ASIDE},           {"cd", ASIDE},
        {"command", ASIDE},    {"sleep", ASIDE},          {"set", ASIDE},
        {"true", ASIDE},       {"export", ASIDE},         {"while", ASIDE},
        {"for", ASIDE},        {"umask", ASIDE},          {"fi", ASIDE},
        {".", ASIDE},          {"source", ASIDE},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == length && strncmp(word, words[i].word, length) == 0)
            return words[i].role;
    return PROGRAM;
}

/* A part of a text. */
struct part {
    const char *start;
    size_t length;
};

/* Takes the next word off a simple command. It is empty at the end. */
static struct part next_word(struct part *command)
{
    static const char between[] = " \t(){}!\"'";
    const char *end = command->start + command->length;
    const char *start = command->start;
    while (start < end && strchr(between, *start))
        start++;
    const char *stop = start;
    while (stop < end && !strchr(" \t(){}<>\"'`", *stop))
        stop++;
    if (stop == start && stop < end) /* redirections end what is looked at */
        stop = start = end;
    *command = (struct part){stop, (size_t)(end - stop)};
    return (struct part){start, (size_t)(stop - start)};
}

/* Returns the part of a word after the last slash. */
static struct part last_part(struct part word)
{
    for (const char *slash; (slash = memchr(word.start, '/', word.length));) {
        word.length -= (size_t)(slash + 1 - word.start);
        word.start = slash + 1;
    }
    return word;
}

/* Returns the name of the program of a simple command; empty if there is none. */
static struct part program_of(struct part command)
{
    bool skip_one = false, in_interpreter = false;
    for (struct part word; (word = next_word(&command)).length > 0;) {
        const char *equals = memchr(word.start, '=', word.length);
        bool is_assignment = equals && is_variable_name(word.start, (size_t)(equals - word.start));
        bool is_number = strspn(word.start, "0123456789") >= word.length; /* as in nice -n 10 */
        if (is_assignment || is_number || word.start[0] == '-')
            continue;
        if (skip_one) {
            skip_one = false;
            continue;
        }
        struct part base = last_part(word);
        if (in_interpreter)
            return base.length < word.length ? base : (struct part){0}; /* a script has a path */
        enum role role = role_of(base.start, base.length);
        if (role == PROGRAM)
            return base;
        if (role == ASIDE)
            break;
        skip_one = role == STARTER_OF_ONE;
        in_interpreter = role == INTERPRETER;
    }
    return (struct part){0};
}

/* Returns the length of the simple command that a text starts with. An & after > does not end it. */
static size_t simple_length(const char *text)
{
    size_t length = strcspn(text, ";&|");
    while (text[length] == '&' && length > 0 && text[length - 1] == '>')
        length += 1 + strcspn(text + length + 1, ";&|");
    return length;
}

/* Writes a word as far as a job may be called that. Returns the length. */
static size_t clean_name(struct part word, char name[LONGEST_BASE + 1])
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    size_t kept = 0;
    for (size_t i = 0; i < word.length && kept < LONGEST_BASE; i++) {
        char byte = word.start[i];
        bool is_good = strchr(allowed, byte) && (kept > 0 || byte != '.');
        if (is_good || (kept > 0 && name[kept - 1] != '-'))
            name[kept++] = (char)(is_good ? byte : '-');
    }
    while (kept > 0 && name[kept - 1] == '-')
        kept--;
    name[kept] = '\0';
    return kept;
}

const char *crontab_base(struct reader *reader, const char *command)
{
    char name[LONGEST_BASE + 1];
    for (const char *from = command; *from;) {
        size_t length = simple_length(from);
        if (clean_name(program_of((struct part){from, length}), name) > 0)
            return arena_text(reader->arena, name, strlen(name));
        from += length;
        from += strspn(from, ";&|");
    }
    return "job";
}

/* ---- different names ---- */

/* An entry on the way to its name. */
struct named {
    const char *base;
    uint64_t hash;
    size_t number;
};

static int by_base(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->base, b->base);
    if (order == 0)
        order = (a->hash > b->hash) - (a->hash < b->hash);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Returns the sorted names of the jobs so far. */
static const char **taken_names(struct reader *reader)
{
    size_t count = reader->jobs->count;
    const char **names = arena_alloc(&reader->scratch, (count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = reader->jobs->jobs[i]->name;
    if (count > 0)
        qsort(names, count, sizeof *names, compare_texts);
    return names;
}

const char **crontab_names(struct reader *reader)
{
    struct arena *scratch = &reader->scratch;
    size_t count = reader->entry_count, taken_count = reader->jobs->count;
    const char **taken = taken_names(reader);
    struct named *named = arena_alloc(scratch, (count + 1) * sizeof *named);
    const char **names = arena_alloc(scratch, (count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        const struct crontab_entry *entry = &reader->entries[i];
        const char *text = arena_format(scratch, "%s %s %s", entry->schedule, entry->user ? entry->user : "",
                                        entry->command);
        named[i] = (struct named){entry->base, text_hash(text) & 0xffff, i};
    }
    if (count > 0)
        qsort(named, count, sizeof *named, by_base);
    unsigned same = 1;
    for (size_t i = 0; i < count; i++) {
        const char *base = named[i].base;
        bool like_last = i > 0 && strcmp(named[i - 1].base, base) == 0;
        bool like_next = i + 1 < count && strcmp(named[i + 1].base, base) == 0;
        bool is_taken = taken_count > 0 && bsearch(&base, taken, taken_count, sizeof *taken, compare_texts);
        same = like_last && named[i - 1].hash == named[i].hash ? same + 1 : 1;
        const char *name = base;
        if (like_last || like_next || is_taken)
            name = arena_format(scratch, "%s-%04x", base, (unsigned)named[i].hash);
        names[named[i].number] = same > 1 ? arena_format(scratch, "%s-%u", name, same) : name;
    }
    return names;
}
