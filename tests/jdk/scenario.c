/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - plays scenarios with hora and compares them with the traces of the JDK
 *
 *     scenario --generate SEED COUNT         print scenarios
 *     scenario --play [MUTANT] <SCENARIOS    print their traces
 *     scenario --check TRACES <SCENARIOS     play them, and show the first trace that differs
 *     scenario --mutants TRACES <SCENARIOS   the same with each mutant, which must change a trace
 *
 * SPELLED_OUT must not change one. scenario.h describes both texts; Scenario.java is the same program for the
 * JDK. Exit status 0: the traces agree; 1: they do not; 2: they could not be compared. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 300 };

static void give_up(const char *reason)
{
    fprintf(stderr, "scenario: %s\n", reason);
    exit(2);
}

/* Reads the next scenario and returns whether there was one. Its text is written to *ret_text, which the
 * caller frees. */
static bool read_scenario(FILE *in, struct scenario *scenario, char **ret_text)
{
    char line[LONGEST_LINE];
    size_t size;
    bool ended = false;
    scenario->count = 0;
    FILE *text = open_memstream(ret_text, &size);
    if (text == NULL)
        give_up("out of memory");
    while (!ended && fgets(line, sizeof(line), in) != NULL) {
        char *rest = NULL;
        fputs(line, text);
        if (scenario->count == MOST_LINES)
            give_up("a scenario is too long");
        struct line *words = &scenario->lines[scenario->count++];
        memset(words, 0, sizeof(*words));
        for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) {
            if (words->count == MOST_WORDS || strlen(word) >= sizeof(words->words[0]))
                give_up("a line is too long");
            memcpy(words->words[words->count++], word, strlen(word) + 1);
        }
        ended = strcmp(words->words[0], "end") == 0;
    }
    fclose(text);
    return ended;
}

/* Returns the JDK's trace of the scenario with this number, which the caller frees; NULL: there is no valid
 * one. */
static char *read_trace(FILE *in, const char *number)
{
    char line[LONGEST_LINE];
    char *trace = NULL;
    size_t size;
    int without = 0;
    char given[24] = "";
    if (fgets(line, sizeof(line), in) == NULL || sscanf(line, "scenario %23s %n", given, &without) < 1 ||
        strcmp(given, number) != 0)
        give_up("the traces do not belong to these scenarios");
    bool counts = line[without] == '\0';
    FILE *text = open_memstream(&trace, &size);
    if (text == NULL)
        give_up("out of memory");
    while (fgets(line, sizeof(line), in) != NULL && strcmp(line, "end\n") != 0)
        fputs(line, text);
    fclose(text);
    if (counts)
        return trace;
    free(trace);
    return NULL;
}

static int length_of_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

static void show_difference(const char *scenario, const char *ours, const char *theirs)
{
    fputs(scenario, stdout);
    puts("-- played:");
    while (*ours != '\0' && length_of_line(ours) == length_of_line(theirs) &&
           strncmp(ours, theirs, (size_t)length_of_line(ours)) == 0) {
        printf("%.*s\n", length_of_line(ours), ours);
        theirs += length_of_line(ours) + (theirs[length_of_line(ours)] != '\0');
        ours += length_of_line(ours) + 1;
    }
    printf("-- differs\n    hora: %.*s\n    JDK:  %.*s\n", length_of_line(ours), ours, length_of_line(theirs),
           theirs);
}

/* True if there is no difference. Counts what was compared. */
static bool compare(FILE *scenarios, FILE *traces, enum mutant mutant, bool show_all, int *ret_compared,
                    int *ret_events)
{
    struct scenario scenario;
    char *text = NULL;
    bool equal = true;
    *ret_compared = *ret_events = 0;
    while ((equal || show_all) && read_scenario(scenarios, &scenario, &text)) {
        char *theirs = read_trace(traces, scenario.lines[0].words[1]);
        if (theirs != NULL) {
            char *ours = play_scenario(&scenario, mutant);
            ++*ret_compared;
            for (const char *c = ours; *c != '\0'; c++)
                *ret_events += *c == '\n';
            if (strcmp(ours, theirs) != 0) {
                equal = false;
                if (mutant == NO_MUTANT)
                    show_difference(text, ours, theirs);
            }
            free(ours);
        }
        free(theirs);
        free(text);
        text = NULL;
    }
    free(text);
    return equal;
}

static int check(const char *traces_path, bool show_all)
{
    int compared;
    int events;
    FILE *traces = fopen(traces_path, "r");
    if (traces == NULL)
        give_up("the traces cannot be read");
    bool equal = compare(stdin, traces, NO_MUTANT, show_all, &compared, &events);
    fclose(traces);
    if (equal)
        printf("jdk: %d events in %d scenarios agree\n", events, compared);
    return equal ? 0 : 1;
}

static int check_mutants(const char *traces_path)
{
    int wrong = 0;
    FILE *traces = fopen(traces_path, "r");
    if (traces == NULL)
        give_up("the traces cannot be read");
    for (int mutant = NO_MUTANT + 1; mutant < MUTANTS; mutant++) {
        int compared;
        int events;
        rewind(stdin);
        rewind(traces);
        bool equal = compare(stdin, traces, (enum mutant)mutant, false, &compared, &events);
        bool right = equal == (mutant == SPELLED_OUT);
        printf("%-20s %s after %d scenarios%s\n", mutant_name((enum mutant)mutant),
               equal ? "no difference" : "differs", compared, right ? "" : ": WRONG");
        wrong += !right;
    }
    fclose(traces);
    return wrong == 0 ? 0 : 1;
}

static int play_all(const char *name)
{
    struct scenario scenario;
    char *text = NULL;
    int mutant = NO_MUTANT;
    while (mutant < MUTANTS && strcmp(mutant_name((enum mutant)mutant), name) != 0)
        mutant++;
    if (mutant == MUTANTS)
        give_up("there is no such mutant");
    while (read_scenario(stdin, &scenario, &text)) {
        char *trace = play_scenario(&scenario, (enum mutant)mutant);
        printf("scenario %s\n%send\n", scenario.lines[0].words[1], trace);
        free(trace);
        free(text);
        text = NULL;
    }
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0); /* if hora crashes or hangs, what was found before is there */
    if (argc == 4 && strcmp(mode, "--generate") == 0) {
        generate_scenarios(strtoull(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
        return fflush(stdout) == 0 ? 0 : 2;
    }
    if (argc <= 3 && strcmp(mode, "--play") == 0)
        return play_all(argc == 3 ? argv[2] : mutant_name(NO_MUTANT));
    if (argc == 3 && strcmp(mode, "--check") == 0)
        return check(argv[2], false);
    if (argc == 3 && strcmp(mode, "--check-all") == 0)
        return check(argv[2], true);
    if (argc == 3 && strcmp(mode, "--mutants") == 0)
        return check_mutants(argv[2]);
    give_up("usage: scenario --generate SEED COUNT | --play [MUTANT] | --check TRACES | --check-all TRACES | "
            "--mutants "
            "TRACES");
    return 2;
}
