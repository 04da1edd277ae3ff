/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c - short forms of the operations for the tests; see contract.h */
#define _GNU_SOURCE
#include "contract.h"

hora__exchange exchanged;
struct seen_task seen;
struct seen_record records[MAX_RECORDS];

static const char *const handlers[] = {"h", "g"};

/* ---- clients ---- */

int put_result(const hora__put *put)
{
    hora__put_done done = {0};
    size_t wrong = 99;
    int result = backend->ops->put(backend, put, 1, &done, &wrong, &contract_error);
    return result < 0 ? result : (int)done.done;
}

static int64_t put_expecting(const hora__put *put, hora_put want)
{
    hora__put_done done = {0};
    size_t wrong = 99;
    CHECK_OK(backend->ops->put(backend, put, 1, &done, &wrong, &contract_error));
    CHECK_INT(done.done, want);
    CHECK(done.id > 0);
    return done.id;
}

int64_t put_one(const hora__put *put)
{
    return put_expecting(put, HORA_PUT_INSERTED);
}

int64_t put_replace(const hora__put *put)
{
    hora__put replacing = *put;
    replacing.if_exists = HORA_IF_EXISTS_REPLACE;
    return put_expecting(&replacing, HORA_PUT_REPLACED);
}

static int change(hora__change change)
{
    return backend->ops->change(backend, &change, &contract_error);
}

int change_key(hora__change_kind kind, const char *key)
{
    return change((hora__change){.kind = kind, .key = key});
}

int change_id(hora__change_kind kind, int64_t id)
{
    return change((hora__change){.kind = kind, .id = id});
}

int stop_firing(int64_t id, int64_t fence, int64_t next)
{
    return change((hora__change){
        .kind = HORA__CHANGE_STOP, .id = id, .fence = fence, .due = next, .code = 9, .note = {"why", 3}});
}

int revive_key(const char *key, int64_t due)
{
    return change((hora__change){.kind = HORA__CHANGE_REVIVE, .key = key, .due = due});
}

int retime_key(const char *key, int64_t due)
{
    return change((hora__change){.kind = HORA__CHANGE_RETIME, .key = key, .due = due});
}

/* ---- nodes ---- */

static hora__lease join_for(int64_t ttl)
{
    hora__lease lease = {0};
    CHECK_OK(backend->ops->join(backend, "a node", ttl, &lease, &contract_error));
    CHECK(lease.node > 0);
    CHECK_INT(lease.ttl_us, ttl);
    return lease;
}

hora__lease join(void)
{
    return join_for(60 * SECOND);
}

hora__lease join_shortly(void)
{
    return join_for(SHORT_LEASE);
}

int exchange_with(const hora__lease *lease, hora__exchange exchange)
{
    if (exchange.handlers == NULL) {
        exchange.handlers = handlers;
        exchange.handler_count = 2;
    }
    for (int lane = 0; lane < HORA__LANES; lane++) {
        if (exchange.low[lane] == 0)
            exchange.low[lane] = INT64_MIN;
    }
    int result = backend->ops->exchange(backend, lease, &exchange, &contract_error);
    exchanged = exchange;
    return result;
}

int claim_within(const hora__lease *lease, int limit, int64_t horizon)
{
    int result = exchange_with(
        lease, (hora__exchange){.horizon_us = horizon, .claim_limit = {limit, limit, limit, limit}});
    return result < 0 ? result : (int)exchanged.ret_claim_count;
}

int claim_all(const hora__lease *lease)
{
    return claim_within(lease, 1000, 0);
}

hora__claim claim_one(const hora__lease *lease)
{
    if (!CHECK_INT(claim_all(lease), 1))
        contract_abort();
    return exchanged.ret_claims[0];
}

int settle_one(const hora__lease *lease, hora__settle settle)
{
    hora__settled settled = 0;
    int result = exchange_with(
        lease, (hora__exchange){.settles = &settle, .settle_count = 1, .ret_settled = &settled});
    return result < 0 ? result : (int)settled;
}

/* ---- looking ---- */

static int64_t us_of(hora_instant instant)
{
    return instant.ns / 1000;
}

static void copy_text(char *to, size_t size, const char *from, bool *ret_has)
{
    *ret_has = from != NULL;
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

static int keep_task(hora_durable_info *info, const char *definition, void *arg)
{
    struct seen_task *task = arg;
    bool has_handler;
    task->info = *info;
    task->planned = us_of(info->planned);
    task->due = us_of(info->due);
    copy_text(task->handler, sizeof task->handler, info->handler, &has_handler);
    copy_text(task->key, sizeof task->key, info->key, &task->has_key);
    copy_text(task->definition, sizeof task->definition, definition, &task->has_definition);
    memset(task->payload, 0, sizeof task->payload);
    if (info->payload_size > 0 && info->payload_size < sizeof task->payload)
        memcpy(task->payload, info->payload, info->payload_size);
    CHECK(info->schedule == NULL);
    return 1;
}

/* Finds the first task that a filter selects, alive or else dead. */
static bool see_first(hora_durable_filter filter, struct seen_task *ret_seen)
{
    int result = backend->ops->list(backend, &filter, keep_task, ret_seen, &contract_error);
    if (result == 0) {
        filter.state = HORA_DURABLE_DEAD;
        result = backend->ops->list(backend, &filter, keep_task, ret_seen, &contract_error);
    }
    CHECK(result == 0 || result == 1);
    return result == 1;
}

bool see(int64_t id, struct seen_task *ret_seen)
{
    for (int state = 0; state <= HORA_DURABLE_DEAD; state += HORA_DURABLE_DEAD) {
        hora_durable_filter filter = {.struct_size = (uint32_t)sizeof filter,
                                      .state = (hora_durable_state)state,
                                      .after_id = id - 1,
                                      .limit = 1};
        int result = backend->ops->list(backend, &filter, keep_task, ret_seen, &contract_error);
        CHECK(result == 0 || result == 1);
        if (result == 1 && ret_seen->info.id == id)
            return true;
    }
    return false;
}

bool see_key(const char *key, struct seen_task *ret_seen)
{
    return see_first((hora_durable_filter){.struct_size = sizeof(hora_durable_filter), .key = key}, ret_seen);
}

struct seen_task must_see(int64_t id)
{
    struct seen_task task;
    if (see(id, &task))
        return task;
    contract_fail(__FILE__, __LINE__, "task %" PRId64 " is not in the store", id);
    contract_abort();
}

static int count_one(hora_durable_info *info, const char *definition, void *arg)
{
    (void)info, (void)definition;
    ++*(int *)arg;
    return 0;
}

static int count_state(hora_durable_state state)
{
    int count = 0;
    hora_durable_filter filter = {.struct_size = (uint32_t)sizeof filter, .state = state};
    CHECK_OK(backend->ops->list(backend, &filter, count_one, &count, &contract_error));
    return count;
}

int count_tasks(void)
{
    return count_state(0);
}

int count_dead(void)
{
    return count_state(HORA_DURABLE_DEAD);
}

static int keep_record(const hora_run_record *record, void *arg)
{
    int *count = arg;
    if (*count == MAX_RECORDS)
        return -1;
    struct seen_record *kept = &records[(*count)++];
    bool has_handler;
    kept->record = *record;
    kept->planned = us_of(record->planned);
    kept->started = us_of(record->started);
    kept->ended = us_of(record->ended);
    copy_text(kept->handler, sizeof kept->handler, record->handler, &has_handler);
    copy_text(kept->key, sizeof kept->key, record->key, &kept->has_key);
    kept->has_note = record->note != NULL;
    memset(kept->note, 0, sizeof kept->note);
    if (record->note_size > 0 && record->note_size < sizeof kept->note)
        memcpy(kept->note, record->note, record->note_size);
    return 0;
}

int read_history(hora_history_filter filter)
{
    int count = 0;
    filter.struct_size = (uint32_t)sizeof filter;
    CHECK_OK(backend->ops->history(backend, &filter, keep_record, &count, &contract_error));
    return count;
}

/* ---- everything as a text ---- */

struct dump {
    FILE *to;
    int64_t base;
    bool exact;
    const int64_t *nodes;
    int node_count;
};

static void dump_time(const struct dump *dump, const char *name, hora_instant instant)
{
    int64_t us = us_of(instant);
    if (us == 0)
        return;
    if (dump->exact)
        fprintf(dump->to, " %s %+" PRId64, name, us - dump->base);
    else if (us > dump->base - HOUR / 2 && us < dump->base + HOUR / 2)
        fprintf(dump->to, " %s now", name);
    else
        fprintf(dump->to, " %s %+" PRId64 "h", name, (us - dump->base) / HOUR);
}

static int dump_node(const struct dump *dump, int64_t node)
{
    for (int i = 0; i < dump->node_count; i++) {
        if (dump->nodes[i] == node)
            return i + 1;
    }
    return node == 0 ? 0 : -1;
}

static int dump_task(hora_durable_info *info, const char *definition, void *arg)
{
    const struct dump *dump = arg;
    fprintf(dump->to, "state %d handler %s key %s", info->state, info->handler,
            info->key == NULL ? "-" : info->key);
    fprintf(dump->to, " definition %s revision %" PRId64, definition == NULL ? "-" : definition,
            info->revision);
    dump_time(dump, "planned", info->planned);
    dump_time(dump, "due", info->due);
    if (dump->exact)
        fprintf(dump->to, " fence %" PRId64, info->fence);
    fprintf(dump->to, " recurring %d attempts %d node %d firings %" PRId64, info->recurring, info->attempts,
            dump_node(dump, info->node), info->firings);
    /* A forked row may show its own outcomes or those of its series. */
    if (!info->recurring || info->key != NULL) {
        fprintf(dump->to, " gave_up %" PRId64 " code %d", info->failures_in_a_row, info->last_code);
        dump_time(dump, "last_end", info->last_end);
        dump_time(dump, "last_success", info->last_success);
    }
    fprintf(dump->to, " priority %d payload %zu %.*s\n", info->priority, info->payload_size,
            info->payload_size < 20 ? (int)info->payload_size : 20,
            info->payload_size == 0 ? "" : (const char *)info->payload);
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Moves the lines of a text to `to`, in the order of the alphabet, and frees it. */
static void dump_sorted(char *text, FILE *to)
{
    size_t count = 0, capacity = 1;
    for (const char *at = text; *at != '\0'; at++)
        capacity += *at == '\n';
    char **lines = calloc(capacity, sizeof(lines[0]));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s\n", lines[i]);
    free(lines);
    free(text);
}

static int dump_record(const hora_run_record *record, void *arg)
{
    const struct dump *dump = arg;
    fprintf(dump->to, "record handler %s key %s outcome %d code %d attempt %d node %d", record->handler,
            record->key == NULL ? "-" : record->key, record->outcome, record->code, record->attempt,
            dump_node(dump, record->node));
    dump_time(dump, "planned", record->planned);
    dump_time(dump, "started", record->started);
    dump_time(dump, "ended", record->ended);
    if (dump->exact)
        fprintf(dump->to, " fence %" PRId64, record->fence);
    fprintf(dump->to, " skipped %" PRId64, record->skipped);
    fprintf(dump->to, " note %.*s\n", (int)record->note_size, record->note_size == 0 ? "" : record->note);
    return 0;
}

char *dump_store(hora__backend *of, int64_t base, bool exact, const int64_t *nodes, int node_count)
{
    char *text;
    size_t size;
    struct dump dump = {open_memstream(&text, &size), base, exact, nodes, node_count};
    hora_durable_filter filter = {.struct_size = (uint32_t)sizeof filter};
    hora_history_filter history = {.struct_size = (uint32_t)sizeof history};
    CHECK_OK(of->ops->list(of, &filter, dump_task, &dump, &contract_error));
    filter.state = HORA_DURABLE_DEAD;
    CHECK_OK(of->ops->list(of, &filter, dump_task, &dump, &contract_error));
    char *lines;
    size_t lines_size;
    struct dump record_dump = dump;
    record_dump.to = open_memstream(&lines, &lines_size);
    CHECK_OK(of->ops->history(of, &history, dump_record, &record_dump, &contract_error));
    fclose(record_dump.to);
    dump_sorted(lines, dump.to);
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(of->ops->stats(of, &stats, &contract_error));
    fprintf(dump.to, "waiting %" PRId64 " claimed %" PRId64 " paused %" PRId64 " dead %" PRId64,
            stats.waiting, stats.claimed, stats.paused, stats.dead);
    dump_time(&dump, "next", stats.next_due);
    if (nodes != NULL && exact)
        fprintf(dump.to, " overdue %" PRId64 " nodes %" PRId64, stats.overdue, stats.nodes);
    fprintf(dump.to, "\n");
    fclose(dump.to);
    return text;
}

char *snapshot(void)
{
    return dump_store(backend, 0, true, NULL, 0);
}

void check_unchanged(const char *file, int line, char *before)
{
    char *after = snapshot();
    contract_check_text(file, line, "the store", after, before);
    free(after);
    free(before);
}
