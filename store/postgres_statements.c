/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_statements.c - the text of every statement
 *
 * Names, payloads and all other values are parameters. @x stands for the table, sequence or function hora_x
 * in the schema of the store. @now() is the store's clock in microseconds. It is volatile, so a comparison
 * with an indexed column uses (SELECT @now()), which is evaluated once: otherwise the index would have no
 * bound.
 *
 * Conditions repeat those of partial indices (owner <> 0, series <> 0, key IS NOT NULL), because PostgreSQL
 * uses such an index only if it sees them. */
#include <stdlib.h>
#include <string.h>

#include "postgres.h"

/* ISO C promises only literals of 4095 bytes; gcc and clang have no limit. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

#define NUMBERS "::bigint[]"

/* ---- settling ----
 *
 * `gone` deletes rows, `stay` changes others, and `held` are those to which a START has nothing to add: it
 * was sent before, or the task is cancelled. All see the rows as they were when the statement began, so each
 * row is in one of them, unless another transaction changes it at the same moment: then it may be in none.
 * The last SELECT finds that out and divides by zero, and the exchange is repeated with the rows locked
 * beforehand. Kinds and outcomes are the numbers of hora__settle_kind and hora_run_outcome:
 *
 *   1 DONE   2 ADVANCE   3 RETRY   4 DEAD   5 RELEASE   6 START
 *
 * START is the only one that leaves the row claimed.
 *
 * Only the primary key may find the rows, so the owner is not compared as a column. The statistics may be of
 * a moment at which no row had an owner. Then the index of owners seems to be empty, and cheaper than the
 * primary key; but it finds all rows of the node, for each that is settled. */
#define MATCHES "f.id = s.id AND f.owner + 0 = s.owner AND f.fence = s.fence AND f.owner + 0 <> 0"
#define HELD    "(s.kind = 6 AND (f.started OR f.change_cancel))"
/* A START that moves the row on to the next firing, and one that leaves its times as they are. */
#define MOVES  "(s.kind = 6 AND f.series <> 0 AND NOT f.forked AND f.change_due IS NULL)"
#define STARTS "(s.kind = 6)"
/* No firing follows a row that is released: hora__release_deletes. */
#define ENDS(row)                                                                               \
    "((" row ".started AND (" row ".forked OR " row ".series = 0)) OR (" row ".forked AND " row \
    ".series = 0))"
#define GOES                                                                           \
    "(s.kind <> 6 AND (f.change_cancel OR (f.change_due IS NULL AND (s.kind IN (1, 4)" \
    " OR (s.kind = 2 AND f.forked) OR (f.forked AND f.series = 0) OR (s.kind = 5 AND " ENDS("f") ")))))"

#define SETTLE_INPUT                                                                                        \
    "WITH t AS MATERIALIZED (SELECT @now() AS now), s AS MATERIALIZED (SELECT u.id, u.owner, u.fence,"      \
    " u.kind, u.planned + t.now * u.after AS planned, u.due + t.now * u.after AS due, u.outcome, u.code,"   \
    " u.run_us, u.gave_up, u.history, u.attempt, u.ran_planned, u.skipped, u.note, t.now,"                  \
    " u.outcome NOT IN (0, 4) AND u.run_us >= 0 AS has_run FROM t,"                                         \
    " unnest($1" NUMBERS ", $2" NUMBERS ", $3" NUMBERS ", $4" NUMBERS ", $5" NUMBERS ", $6" NUMBERS         \
    ", $7" NUMBERS ", $8" NUMBERS ", $9" NUMBERS ", $10" NUMBERS ", $11" NUMBERS ", $12" NUMBERS            \
    ", $13" NUMBERS ", $14" NUMBERS ", $15" NUMBERS ", $16::bytea[]) AS u(id, owner, fence, kind, planned," \
    " due, after, outcome, code, run_us, gave_up, history, attempt, ran_planned, skipped, note)),"

#define SETTLE_GONE(more)                                                                               \
    " gone AS (DELETE FROM @firing f USING s WHERE " MATCHES " AND NOT " HELD " AND " GOES              \
    " RETURNING f.id, f.series, f.forked, f.change_cancel, f.handler, f.key, s.kind, s.outcome, s.code" \
    ", s.has_run, s.gave_up, s.now" more "),"

#define SETTLE_STAY(more)                                                                                    \
    " stay AS (UPDATE @firing f SET planned = CASE WHEN " MOVES " THEN s.planned WHEN " STARTS               \
    " THEN f.planned"                                                                                        \
    " WHEN f.change_due IS NOT NULL THEN greatest(f.change_due, s.now) WHEN s.kind = 2 THEN s.planned ELSE " \
    "f.planned END,"                                                                                         \
    " due = CASE WHEN " STARTS " AND NOT " MOVES " THEN f.due ELSE greatest(s.now, CASE WHEN " MOVES         \
    " THEN s.due"                                                                                            \
    " WHEN f.change_due IS NOT NULL THEN f.change_due WHEN s.kind IN (2, 3) THEN s.due ELSE f.due END) END," \
    " attempt = CASE WHEN " STARTS " AND NOT " MOVES " THEN f.attempt"                                       \
    " WHEN s.kind IN (2, 6) OR f.change_due IS NOT NULL THEN 0"                                              \
    " WHEN s.kind = 5 THEN greatest(f.attempt - 1, 0) ELSE f.attempt END,"                                   \
    " firings = greatest(0, f.firings + CASE WHEN s.kind IN (1, 2, 6) AND NOT f.started THEN 1 ELSE 0 END)," \
    " owner = CASE WHEN " STARTS " THEN f.owner ELSE 0 END,"                                                 \
    " change_due = CASE WHEN " STARTS " THEN f.change_due END, started = " STARTS ","                        \
    " ran_planned = CASE WHEN s.kind IN (5, 6) AND s.ran_planned <> 0 THEN s.ran_planned"                    \
    " ELSE f.ran_planned END,"                                                                               \
    " gave_up = CASE WHEN s.outcome <> 0 OR s.kind = 2 THEN s.gave_up ELSE f.gave_up END,"                   \
    " last_end = CASE WHEN s.has_run THEN s.now ELSE f.last_end END,"                                        \
    " last_code = CASE WHEN s.has_run THEN s.code ELSE f.last_code END,"                                     \
    " last_success = CASE WHEN s.outcome = 1 THEN s.now ELSE f.last_success END"                             \
    " FROM s WHERE " MATCHES " AND NOT " HELD " AND NOT " GOES                                               \
    " RETURNING f.id, f.series, f.forked, f.handler, f.key, "                                                \
    "s.kind, s.outcome, s.code, s.has_run, s.gave_up, s.now" more "),"

/* The series of rows that are gone end if no other row of theirs is left. The outcome of a run that overlaps
 * is kept in the series row, because the row with the key may be settled in the same statement. */
#define SETTLE_SERIES                                                                                 \
    " ended AS MATERIALIZED (SELECT DISTINCT g.series FROM gone g WHERE g.series <> 0 AND NOT EXISTS" \
    " (SELECT 1 FROM @firing o WHERE o.series = g.series AND o.series <> 0"                           \
    " AND o.id NOT IN (SELECT id FROM gone))),"                                                       \
    " freed AS (DELETE FROM @series r USING ended e WHERE r.id = e.series),"                          \
    " told AS (UPDATE @series r SET gave_up = o.gave_up,"                                             \
    " last_end = CASE WHEN o.has_run THEN o.now ELSE r.last_end END,"                                 \
    " last_code = CASE WHEN o.has_run THEN o.code ELSE r.last_code END,"                              \
    " last_success = CASE WHEN o.outcome = 1 THEN o.now ELSE r.last_success END, told = o.now"        \
    " FROM (SELECT DISTINCT ON (series) series, outcome, code, has_run, gave_up, now FROM"            \
    " (SELECT series, forked, outcome, code, has_run, gave_up, now FROM gone UNION ALL"               \
    " SELECT series, forked, outcome, code, has_run, gave_up, now FROM stay) b WHERE b.forked AND "   \
    "b.outcome <> 0"                                                                                  \
    " ORDER BY series, outcome) o WHERE r.id = o.series AND r.id NOT IN (SELECT series FROM ended))"

#define SETTLE_RESULT                                                                                       \
    ", held AS MATERIALIZED (SELECT f.id FROM s, @firing f WHERE s.kind = 6 AND " MATCHES " AND " HELD ")," \
    " n AS MATERIALIZED (SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM stay)"                  \
    " + (SELECT count(*) FROM held) AS found)"                                                              \
    " SELECT ARRAY(SELECT id FROM gone UNION ALL SELECT id FROM stay UNION ALL SELECT id FROM held),"       \
    " 1 / CASE WHEN n.found = cardinality($1) THEN 1"                                                       \
    " WHEN n.found = (SELECT count(*) FROM s, @firing f WHERE " MATCHES ") THEN 1 ELSE 0 END FROM n"

/* The most frequent case: one-shot tasks that are done, without records. If a row is not simply deleted, the
 * statement divides by zero, and the exchange is repeated with the statement for all cases. */
#define SETTLE_DONE                                                                                       \
    "WITH s AS MATERIALIZED (SELECT * FROM unnest($1" NUMBERS ", $2" NUMBERS ", $3" NUMBERS ")"           \
    " AS u(id, owner, fence)), gone AS (DELETE FROM @firing f USING s WHERE " MATCHES " AND f.series = 0" \
    " AND (f.change_cancel OR f.change_due IS NULL) RETURNING 1)"                                         \
    " SELECT $1, 1 / (count(*) = cardinality($1))::int FROM gone"

/* Records, and the dead tasks. If a run that overlaps gives up for good, the row with the key is moved. */
#define RECORD_COLUMNS \
    "(task, handler, key, outcome, code, planned, started, ended, attempt, fence, node, skipped, note)"
#define DEAD_COLUMNS                                                                            \
    "(id, handler, key, recurring, definition, payload, lane, history, revision, planned, due," \
    " attempt, fence, firings, gave_up, last_end, last_code, last_success)"
#define RUN_COLUMNS                                                                               \
    ", s.run_us, s.history, s.attempt AS ran_attempt, s.ran_planned, s.skipped, s.note, f.fence," \
    " greatest(s.owner, 0) AS owner"
#define DEAD_SOURCE                                                                                   \
    ", f.definition, f.payload, f.lane, f.history AS keeps, f.revision, f.planned, f.due, f.attempt," \
    " f.firings, f.last_end, f.last_code, f.last_success"

#define SETTLE_RECORDS                                                                                       \
    ", record AS (INSERT INTO @history " RECORD_COLUMNS " SELECT x.id, x.handler,"                           \
    " coalesce(x.key, r.key), x.outcome, x.code, x.ran_planned,"                                             \
    " CASE WHEN x.run_us < 0 THEN 0 ELSE x.now - x.run_us END, x.now, x.ran_attempt, x.fence, x.owner,"      \
    " x.skipped, x.note FROM (SELECT id, handler, key, series, outcome, code, ran_planned, now, run_us,"     \
    " ran_attempt, fence, owner, skipped, note, history FROM gone UNION ALL"                                 \
    " SELECT id, handler, key, series, outcome, code, ran_planned, now, run_us, ran_attempt, fence,"         \
    " owner, skipped, note, history FROM stay) x LEFT JOIN @series r"                                        \
    " ON x.series <> 0 AND r.id = x.series WHERE x.history <> 0 AND x.outcome <> 0),"                        \
    " fallen AS (DELETE FROM @firing f USING gone g WHERE g.forked AND g.kind = 4"                           \
    " AND NOT g.change_cancel AND f.series = g.series AND f.series <> 0 AND f.key IS NOT NULL"               \
    " AND f.owner = 0 RETURNING f.id, f.series, f.handler, f.key, g.outcome, g.code, g.has_run, g.gave_up, " \
    "g.now,"                                                                                                 \
    " f.fence" DEAD_SOURCE "),"                                                                              \
    " buried AS (INSERT INTO @dead " DEAD_COLUMNS " SELECT x.id, x.handler, x.key, x.series <> 0,"           \
    " coalesce(r.definition, x.definition), coalesce(r.payload, x.payload), x.lane, x.keeps, x.revision,"    \
    " x.planned, x.due, x.attempt, x.fence, x.firings,"                                                      \
    " x.gave_up,"                                                                                            \
    " CASE WHEN x.has_run THEN x.now ELSE x.last_end END,"                                                   \
    " CASE WHEN x.has_run THEN x.code ELSE x.last_code END,"                                                 \
    " CASE WHEN x.outcome = 1 THEN x.now ELSE x.last_success END FROM"                                       \
    " (SELECT id, series, handler, key, outcome, code, has_run, gave_up, now, fence, definition, payload, "  \
    "lane,"                                                                                                  \
    " keeps, revision, planned, due, attempt, firings, last_end, last_code, last_success FROM gone"          \
    " WHERE kind = 4 AND NOT change_cancel AND NOT forked UNION ALL"                                         \
    " SELECT id, series, handler, key, outcome, code, has_run, gave_up, now, fence, definition, payload, "   \
    "lane,"                                                                                                  \
    " keeps, revision, planned, due, attempt, firings, last_end, last_code, last_success FROM fallen) x"     \
    " LEFT JOIN @series r ON x.series <> 0 AND r.id = x.series)"

/* A FORK gives the key to a new row. The INSERT reads what the UPDATE returns, so the key is free by then. */
#define FORK                                                                                               \
    "WITH t AS MATERIALIZED (SELECT @now() AS now),"                                                       \
    " l AS MATERIALIZED (SELECT f.id, f.series, f.handler, f.key, f.lane, f.paused, f.history, f.firings," \
    " f.gave_up, f.last_end, f.last_code, f.last_success, f.revision, f.forked, f.change_cancel,"          \
    " CASE WHEN f.change_due IS NULL THEN s.planned + t.now * s.after"                                     \
    " ELSE greatest(f.change_due, t.now) END AS planned, f.definition, f.payload,"                         \
    " greatest(t.now, coalesce(f.change_due, s.due + t.now * s.after)) AS due, s.overlap_max FROM t,"      \
    " unnest($1" NUMBERS ", $2" NUMBERS ", $3" NUMBERS ", $4" NUMBERS ", $5" NUMBERS ", $6" NUMBERS        \
    ", $7" NUMBERS ") AS s(id, owner, fence, planned, due, after, overlap_max) JOIN @firing f ON " MATCHES \
    " FOR UPDATE OF f),"                                                                                   \
    " a AS MATERIALIZED (SELECT l.*, 1 + (SELECT count(*) FROM @firing o WHERE o.series = l.series"        \
    " AND o.series <> 0 AND o.id <> l.id AND o.forked) > l.overlap_max AS is_full"                         \
    " FROM l),"                                                                                            \
    " c AS (UPDATE @firing f SET key = NULL, forked = true, change_due = NULL, paused = false, firings = " \
    "greatest(0, f.firings) FROM a"                                                                        \
    " WHERE f.id = a.id AND NOT a.is_full AND NOT a.forked AND NOT a.change_cancel RETURNING a.*),"        \
    " i AS (INSERT INTO @firing (id, series, handler, key, lane, paused, history, firings, gave_up,"       \
    " last_end, last_code, last_success, revision, planned, due, definition, payload) SELECT "             \
    "nextval('@id'), series, handler,"                                                                     \
    " key, lane, paused, history, firings + 1, gave_up, last_end, last_code, last_success, revision,"      \
    " planned, due, definition, payload FROM c)"                                                           \
    " SELECT ARRAY(SELECT id FROM a), ARRAY(SELECT id FROM a WHERE is_full)"

/* ---- claiming ----
 *
 * The rows are found and locked by an inner SELECT and updated by their physical address. As a join, a plan
 * made without parameters would read the whole table. A row that another transaction has changed since the
 * statement began has another address by then, and is left for the next time. */
#define CLAIM_RETURNED                                                                                     \
    "f.id, f.series, f.planned, f.due, f.fence, f.attempt, f.firings, f.gave_up,"                          \
    " f.last_success, f.history, f.handler, f.key, f.forked, f.definition, f.payload, f.last_end, f.lane," \
    " f.ran_planned"
#define CLAIM_COLUMNS                                                                                       \
    " SELECT c.id, c.series, coalesce(r.revision, 0), c.planned, c.due, c.fence, c.attempt, c.firings,"     \
    " CASE WHEN r.told > c.last_end THEN r.gave_up ELSE c.gave_up END,"                                     \
    " greatest(c.last_success, r.last_success), c.history, array_position($5::text[], c.handler) - 1,"      \
    " coalesce(c.key, r.key), c.definition, c.payload, c.forked, c.lane, greatest(c.last_end, r.last_end)," \
    " c.ran_planned = c.planned"                                                                            \
    " FROM c LEFT JOIN @series r ON c.series <> 0 AND r.id = c.series"
#define CLAIM                                                                                       \
    "WITH c AS (UPDATE @firing f SET owner = $1::bigint, attempt = f.attempt + 1, started = false," \
    " fence = greatest(f.fence + 1, (SELECT @timeline() << 40))"                                    \
    " WHERE f.ctid = ANY (ARRAY(SELECT w.ctid FROM @firing w"                                       \
    " WHERE (SELECT n.lease > @now() FROM @node n WHERE n.id = $1)"                                 \
    " AND w.owner = 0 AND NOT w.paused AND w.lane = $2::bigint AND w.due >= $3::bigint"             \
    " AND w.due <= (SELECT @now() + $4::bigint) AND w.handler = ANY ($5::text[])"                   \
    " ORDER BY w.due, w.id LIMIT $6::bigint FOR UPDATE SKIP LOCKED))"                               \
    " RETURNING " CLAIM_RETURNED ")" CLAIM_COLUMNS
/* What the node has claimed already; its parameters are those of CLAIM, of which it uses $1 and $5. */
#define CLAIMED                                                                                   \
    "WITH c AS MATERIALIZED (SELECT " CLAIM_RETURNED " FROM @firing f WHERE f.owner = $1::bigint" \
    " AND f.owner <> 0 AND f.handler = ANY ($5::text[])"                                          \
    " AND ($2::bigint + $3::bigint + $4::bigint + $6::bigint) IS NOT NULL)" CLAIM_COLUMNS

#define EARLIEST(lane, low)                                                                                  \
    "(SELECT due FROM @firing WHERE owner = 0 AND NOT paused AND lane = " lane " AND due >= " low "::bigint" \
    " ORDER BY due, id LIMIT 1)"

/* ---- releasing: reap ($3 is 0) and leave ($3 is 1) ----
 *
 * A row that is not due yet cannot have run: its attempt does not count, and it gets no record. */
#define RAN    "($3::bigint = 0 AND (v.started OR v.due <= v.now))"
#define LEAVES "(v.change_cancel OR (v.change_due IS NULL AND " ENDS("v") "))"
#define RELEASE                                                                                            \
    "WITH v AS MATERIALIZED (SELECT f.*, t.now FROM @firing f, (SELECT @now() AS now OFFSET 0) t"          \
    " WHERE f.owner = ANY ($1" NUMBERS ") AND f.owner <> 0 ORDER BY f.id LIMIT $2::bigint"                 \
    " FOR UPDATE OF f SKIP LOCKED),"                                                                       \
    " gone AS (DELETE FROM @firing f USING v WHERE f.id = v.id AND " LEAVES " RETURNING f.id, f.series),"  \
    " stay AS (UPDATE @firing f SET owner = 0, started = false, change_due = NULL, firings = greatest(0, " \
    "v.firings),"                                                                                          \
    " planned = CASE WHEN v.change_due IS NULL THEN v.planned ELSE greatest(v.change_due, v.now) END,"     \
    " due = greatest(v.now, coalesce(v.change_due, v.due)),"                                               \
    " attempt = CASE WHEN v.change_due IS NOT NULL THEN 0 WHEN " RAN " THEN v.attempt"                     \
    " ELSE greatest(v.attempt - 1, 0) END FROM v WHERE f.id = v.id AND NOT " LEAVES " RETURNING f.id),"    \
    " ended AS MATERIALIZED (SELECT DISTINCT g.series FROM gone g WHERE g.series <> 0 AND NOT EXISTS"      \
    " (SELECT 1 FROM @firing o WHERE o.series = g.series AND o.series <> 0"                                \
    " AND o.id NOT IN (SELECT id FROM gone))),"                                                            \
    " record AS (INSERT INTO @history " RECORD_COLUMNS " SELECT v.id, v.handler, coalesce(v.key, r.key),"  \
    " 4, 0, CASE WHEN v.started THEN v.ran_planned ELSE v.planned END, 0, v.now,"                          \
    " CASE WHEN v.started THEN 1 ELSE v.attempt END, v.fence, v.owner, 0, NULL"                            \
    " FROM v LEFT JOIN @series r ON v.series <> 0 AND r.id = v.series WHERE v.history AND " RAN "),"       \
    " freed AS (DELETE FROM @series r USING ended e WHERE r.id = e.series)"                                \
    " SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM stay)"

/* ---- looking ---- */

#define LIST_COLUMNS                                                                                      \
    "f.id, f.handler, f.key, CASE WHEN f.owner <> 0 THEN 2 WHEN f.paused THEN 3 ELSE 1 END,"              \
    " f.series <> 0, f.revision, f.planned, f.due, f.attempt, f.fence, f.owner, greatest(0, f.firings),"  \
    " CASE WHEN r.told > f.last_end THEN r.gave_up ELSE f.gave_up END, greatest(f.last_end, r.last_end)," \
    " CASE WHEN r.last_end > f.last_end THEN r.last_code ELSE f.last_code END,"                           \
    " greatest(f.last_success, r.last_success), f.lane, coalesce(r.payload, f.payload),"                  \
    " coalesce(r.definition, f.definition)"
#define LIST_WHERE                                                                           \
    " ($3::text IS NULL OR starts_with(f.key, $3)) AND ($4::text IS NULL OR f.handler = $4)" \
    " AND ($5::bigint = 0 OR $5 = CASE WHEN f.owner <> 0 THEN 2 WHEN f.paused THEN 3 ELSE 1 END)"
#define LIST_FROM " FROM @firing f LEFT JOIN @series r ON f.series <> 0 AND r.id = f.series WHERE "

#define HISTORY_COLUMNS                                                                                   \
    "SELECT h.id, h.task, h.handler, h.key, h.outcome, h.code, h.planned, h.started, h.ended, h.attempt," \
    " h.fence, h.node, h.note, h.skipped FROM @history h WHERE h.id < $1::bigint AND ($3::bigint = 0 OR"  \
    " h.outcome = $3) AND ($4::bigint = 0 OR h.outcome IN (2, 3, 4)) AND h.ended >= $5::bigint"

/* clang-format off */
#define TABLE(X)                                                                                            \
X(BEGIN, "BEGIN")                                                                                           \
X(SETTINGS,                                                                                                 \
    "SELECT set_config('statement_timeout', $1::text, true),"                                               \
    " set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)," \
    " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"             \
    " set_config('jit', 'off', true), CASE WHEN current_setting('synchronous_commit') = 'off'"              \
    " THEN set_config('synchronous_commit', 'on', true) END")                                               \
X(COMMIT, "COMMIT")                                                                                         \
X(NOW, "SELECT @now()")                                                                                     \
X(XID, "SELECT pg_current_xact_id()::text, @timeline()")                                                    \
X(XID_STATUS, "SELECT pg_xact_status($1::text::xid8), @timeline()")                                         \
X(NOTIFY,                                                                                                   \
    "SELECT pg_notify($1::text, d.due::text) FROM (SELECT least($2::bigint, @now() + $3::bigint) AS due,"   \
    " @now() + 1000000 AS near OFFSET 0) d WHERE d.due <= d.near")                                          \
X(PUT_INSERT,                                                                                               \
    "INSERT INTO @firing (id, series, handler, key, revision, definition, payload, lane, history, planned," \
    " due) SELECT p.id, p.recurring * p.id, p.handler, p.key, p.revision,"                                  \
    " CASE WHEN p.recurring = 0 THEN p.definition END, CASE WHEN p.recurring = 0 THEN p.payload END,"       \
    " p.lane, p.history <> 0, p.planned + p.after * t.now,"                                                 \
    " greatest(p.due + p.after * t.now, t.now) FROM (SELECT @now() AS now OFFSET 0) t,"                     \
    " (SELECT nextval('@id') AS id, q.* FROM (SELECT * FROM unnest($1::text[], $2::text[],"                 \
    " $3" NUMBERS ", $4" NUMBERS ", $5::text[], $6::bytea[], $7" NUMBERS ", $8" NUMBERS ", $9" NUMBERS      \
    ", $10" NUMBERS ", $11" NUMBERS ", $12" NUMBERS ") WITH ORDINALITY u(handler, key, revision,"           \
    " recurring, definition, payload, lane, history, after, planned, due, place, number)"                   \
    " ORDER BY u.place) q) p ORDER BY p.number"                                                             \
    " ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING RETURNING id, key")                                \
X(PUT_LOCK,                                                                                                 \
    "SELECT f.id, f.key, f.series, f.revision, f.change_cancel, r.definition FROM @firing f"                \
    " LEFT JOIN @series r ON f.series <> 0 AND r.id = f.series WHERE f.key = ANY ($1::text[])"              \
    " AND f.key IS NOT NULL ORDER BY f.key FOR UPDATE OF f")                                                \
X(PUT_REPLACE,                                                                                              \
    "UPDATE @firing f SET handler = u.handler, revision = u.revision,"                                      \
    " definition = CASE WHEN u.recurring = 0 THEN u.definition END,"                                        \
    " payload = CASE WHEN u.recurring = 0 THEN u.payload END, lane = u.lane, history = u.history <> 0,"     \
    " series = CASE WHEN u.recurring = 0 THEN 0 WHEN f.series <> 0 THEN f.series ELSE nextval('@id') END,"  \
    " change_cancel = false, attempt = CASE WHEN u.same <> 0 OR f.owner <> 0 THEN f.attempt ELSE 0 END,"    \
    " firings = CASE WHEN u.same <> 0 THEN f.firings WHEN f.owner = 0 OR f.started THEN 0 ELSE -1 END,"      \
    " gave_up = CASE WHEN u.same = 0 THEN 0 WHEN r.told > f.last_end THEN r.gave_up ELSE f.gave_up END,"  \
    " last_end = greatest(f.last_end, r.last_end), last_success = greatest(f.last_success, r.last_success)," \
    " last_code = CASE WHEN r.last_end > f.last_end THEN r.last_code ELSE f.last_code END,"                 \
    " planned = CASE WHEN u.same <> 0 OR f.owner <> 0 THEN f.planned ELSE u.planned + u.after * t.now END," \
    " due = CASE WHEN u.same <> 0 OR f.owner <> 0 THEN f.due"                                               \
    " ELSE greatest(u.due + u.after * t.now, t.now) END,"                                                   \
    " change_due = CASE WHEN f.owner <> 0 AND u.same = 0 THEN greatest(u.due + u.after * t.now, t.now)"     \
    " ELSE f.change_due END FROM (SELECT @now() AS now OFFSET 0) t, unnest($1::text[], $2::text[],"         \
    " $3" NUMBERS ", $4" NUMBERS ", $5::text[], $6::bytea[], $7" NUMBERS ", $8" NUMBERS ", $9" NUMBERS      \
    ", $10" NUMBERS ", $11" NUMBERS ", $12" NUMBERS ", $13" NUMBERS ", $14" NUMBERS ")" \
    " u(handler, key, revision," \
    " recurring, definition, payload, lane, history, after, planned, due, id, same, old)"    \
    " LEFT JOIN @series r ON u.old <> 0 AND r.id = u.old WHERE f.id = u.id"      \
    " RETURNING f.id, f.series")                                                                            \
X(SERIES_PUT,                                                                                               \
    "INSERT INTO @series AS r (id, key, revision, definition, payload) SELECT u.id, u.key, 1, u.definition,"\
    " u.payload FROM unnest($1" NUMBERS ", $2::text[], $3::text[], $4::bytea[])"                            \
    " u(id, key, definition, payload) ON CONFLICT (id) DO UPDATE SET revision = r.revision + 1,"            \
    " definition = excluded.definition, payload = excluded.payload, gave_up = 0, told = 0")                 \
X(SERIES_FREE,                                                                                              \
    "DELETE FROM @series r WHERE r.id = ANY ($1" NUMBERS ") AND NOT EXISTS"                                 \
    " (SELECT 1 FROM @firing f WHERE f.series = r.id AND f.series <> 0)")                                   \
X(SERIES_READ, "SELECT revision, definition, payload FROM @series WHERE id = $1::bigint")                   \
X(SERIES_SWEEP,                                                                                             \
    "WITH p AS MATERIALIZED (SELECT id FROM @series WHERE id > $1::bigint ORDER BY id LIMIT 500),"          \
    " d AS (DELETE FROM @series r USING p WHERE r.id = p.id AND NOT EXISTS (SELECT 1 FROM @firing f"        \
    " WHERE f.series = r.id AND f.series <> 0)) SELECT coalesce(max(id), 0), count(*) FROM p")              \
X(FIND_KEY,                                                                                                 \
    "SELECT id, series, forked, change_cancel FROM @firing WHERE key = $1::text AND key IS NOT NULL"        \
    " FOR UPDATE")                                                                                          \
X(FIND_ID, "SELECT id, series, forked, change_cancel FROM @firing WHERE id = $1::bigint FOR UPDATE")        \
X(FIND_SERIES,                                                                                              \
    "SELECT id, series, forked, change_cancel FROM @firing WHERE series = $1::bigint AND series <> 0"       \
    " ORDER BY id FOR UPDATE")                                                                              \
X(CANCEL,                                                                                                   \
    "WITH gone AS (DELETE FROM @firing WHERE id = ANY ($1" NUMBERS ") AND owner = 0),"                      \
    " marked AS (UPDATE @firing SET change_cancel = true WHERE id = ANY ($1) AND owner <> 0 RETURNING 1)"   \
    " SELECT count(*) FROM marked")                                                                         \
X(CANCEL_DEAD,                                                                                              \
    "DELETE FROM @dead WHERE id = coalesce($2::bigint, (SELECT max(id) FROM @dead WHERE key = $1::text))")  \
X(RETIME,                                                                                                   \
    "UPDATE @firing f SET planned = CASE WHEN owner = 0 THEN t.due ELSE planned END,"                       \
    " due = CASE WHEN owner = 0 THEN t.due ELSE f.due END,"                                                 \
    " attempt = CASE WHEN owner = 0 THEN 0 ELSE attempt END,"                                               \
    " change_due = CASE WHEN owner <> 0 THEN t.due END"                                                     \
    " FROM (SELECT greatest($2::bigint, @now()) AS due OFFSET 0) t WHERE id = $1::bigint")                  \
X(PAUSE, "UPDATE @firing SET paused = true WHERE id = $1::bigint AND NOT paused")                           \
X(RESUME,                                                                                                   \
    "UPDATE @firing SET paused = false, due = CASE WHEN owner = 0 THEN greatest(due, @now()) ELSE due END"  \
    " WHERE id = $1::bigint AND paused RETURNING due")                                                      \
X(REVIVE,                                                                                                   \
    "WITH d AS (DELETE FROM @dead WHERE id = coalesce($2::bigint, (SELECT max(id) FROM @dead"               \
    " WHERE key = $1::text)) RETURNING *), e AS MATERIALIZED (SELECT d.*,"                                  \
    " greatest($3::bigint, @now()) AS wanted,"                                                              \
    " CASE WHEN d.recurring THEN nextval('@id') ELSE 0 END AS series FROM d),"                              \
    " i AS (INSERT INTO @firing (id, series, handler, key, lane, history, revision, planned, due, fence,"   \
    " firings, last_end, last_code, last_success, definition, payload) SELECT id, series, handler, key,"    \
    " lane, history, revision, wanted, wanted, fence, firings, last_end, last_code, last_success,"          \
    " CASE WHEN NOT recurring THEN definition END, CASE WHEN NOT recurring THEN payload END FROM e"         \
    " ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING RETURNING id),"                                    \
    " r AS (INSERT INTO @series (id, key, revision, definition, payload) SELECT series, key, 1, definition,"\
    " payload FROM e WHERE recurring) SELECT (SELECT count(*) FROM d), (SELECT count(*) FROM i)")           \
X(TAKE,                                                                                                     \
    "UPDATE @firing SET owner = $3::bigint WHERE id = $1::bigint AND fence = $2::bigint AND owner = 0"      \
    " AND attempt > 0 RETURNING series, attempt, planned, gave_up, history")                                \
X(JOIN,                                                                                                     \
    "INSERT INTO @node (id, incarnation, name, ttl, started, lease) SELECT nextval('@node_id'),"            \
    " uuid_send(gen_random_uuid()), $1::text, $2::bigint, t.now, t.now + $2"                                \
    " FROM (SELECT @now() AS now OFFSET 0) t RETURNING id, incarnation")                                    \
X(RENEW,                                                                                                    \
    "WITH n AS (UPDATE @node SET lease = @now() + $3::bigint WHERE id = $1::bigint"                         \
    " AND incarnation = $2::bytea AND lease > @now() RETURNING 1) SELECT 1 / count(*), @now() FROM n")      \
X(CHECK_LEASE,                                                                                              \
    "SELECT 1 / count(*), @now() FROM (SELECT 1 FROM @node WHERE id = $1::bigint"                           \
    " AND incarnation = $2::bytea AND lease > @now() FOR KEY SHARE) n")                                     \
X(LOCK_FIRINGS, "SELECT 1 FROM @firing WHERE id = ANY ($1" NUMBERS ") ORDER BY id FOR UPDATE")              \
X(SETTLE_DONE, SETTLE_DONE)                                                                                 \
X(SETTLE, SETTLE_INPUT SETTLE_GONE("") SETTLE_STAY("") SETTLE_SERIES SETTLE_RESULT)                         \
X(SETTLE_FULL,                                                                                              \
    SETTLE_INPUT SETTLE_GONE(RUN_COLUMNS DEAD_SOURCE) SETTLE_STAY(RUN_COLUMNS) SETTLE_SERIES SETTLE_RECORDS \
    SETTLE_RESULT)                                                                                          \
X(FORK, FORK)                                                                                               \
X(CLAIM, CLAIM)                                                                                             \
X(CLAIMED, CLAIMED)                                                                                         \
X(STATE,                                                                                                    \
    "SELECT n.lease, " EARLIEST("0", "$2") ", " EARLIEST("1", "$3") ", " EARLIEST("2", "$4") ", "           \
    EARLIEST("3", "$5") ", CASE WHEN $6::bigint <> 0 THEN ARRAY(SELECT id FROM @firing"                     \
    " WHERE owner = $1::bigint AND change_cancel ORDER BY id) END, @now(),"  \
    " $6 <> 0 AND EXISTS (SELECT 1 FROM @node o, (SELECT @now() AS now OFFSET 0) t"                         \
    " WHERE o.lease <= t.now OR o.lease > t.now + o.ttl) FROM @node n"                                      \
    " WHERE n.id = $1::bigint")                                                                             \
X(TIMELINE,                                                                                                 \
    "UPDATE @meta SET timeline = t.timeline, timeline_since = t.now"                                        \
    " FROM (SELECT @timeline() AS timeline, @now() AS now OFFSET 0) t"                                      \
    " WHERE @meta.timeline <> t.timeline OR @meta.timeline_since > t.now")                                  \
X(SHORTEN,                                                                                                  \
    "UPDATE @node n SET lease = t.now + n.ttl FROM (SELECT @now() AS now OFFSET 0) t WHERE n.id = ANY"      \
    " (ARRAY(SELECT o.id FROM @node o WHERE o.lease > (SELECT @now()) + o.ttl ORDER BY o.id"                \
    " FOR NO KEY UPDATE SKIP LOCKED)) AND n.lease > t.now + n.ttl")                                         \
X(ENDED_NODES,                                                                                              \
    "SELECT n.id FROM @node n, @meta m WHERE n.lease <= @now() AND m.timeline_since + n.ttl <= @now()"      \
    " ORDER BY n.id LIMIT 100 FOR UPDATE OF n SKIP LOCKED")                                                 \
X(RELEASE, RELEASE)                                                                                         \
X(DELETE_NODES,                                                                                             \
    "DELETE FROM @node n WHERE n.id = ANY ($1" NUMBERS ") AND NOT EXISTS"                                   \
    " (SELECT 1 FROM @firing f WHERE f.owner = n.id AND f.owner <> 0)")                                     \
X(LIST,                                                                                                     \
    "SELECT " LIST_COLUMNS LIST_FROM "f.id > $1::bigint AND" LIST_WHERE " ORDER BY f.id LIMIT $2::bigint")  \
X(LIST_KEY,                                                                                                 \
    "SELECT " LIST_COLUMNS LIST_FROM "f.id > $1::bigint AND f.key = $6::text AND f.key IS NOT NULL AND"     \
    LIST_WHERE " ORDER BY f.id LIMIT $2::bigint")                                                           \
X(LIST_DEAD,                                                                                                \
    "SELECT f.id, f.handler, f.key, 4, f.recurring, f.revision, f.planned, f.due, f.attempt, f.fence,"      \
    " 0, f.firings, f.gave_up, f.last_end, f.last_code, f.last_success, f.lane, f.payload, f.definition"    \
    " FROM @dead f WHERE f.id > $1::bigint AND ($3::text IS NULL OR starts_with(f.key, $3))"                \
    " AND ($4::text IS NULL OR f.handler = $4) AND ($5::bigint <> 0) AND ($6::text IS NULL OR f.key = $6)"  \
    " ORDER BY f.id LIMIT $2::bigint")                                                                      \
X(HISTORY,                                                                                                  \
    HISTORY_COLUMNS " AND $6::text IS NULL ORDER BY h.id DESC LIMIT $2::bigint")                            \
X(HISTORY_KEY,                                                                                              \
    HISTORY_COLUMNS " AND h.key = $6::text ORDER BY h.id DESC LIMIT $2::bigint")                            \
X(STATS,                                                                                                    \
    "SELECT @now(), count(*) FILTER (WHERE owner = 0 AND NOT paused), count(*) FILTER (WHERE owner <> 0),"  \
    " count(*) FILTER (WHERE owner = 0 AND paused), (SELECT count(*) FROM @dead),"                          \
    " count(*) FILTER (WHERE owner = 0 AND NOT paused AND due <= (SELECT @now())),"                         \
    " min(due) FILTER (WHERE owner = 0 AND NOT paused),"                                                    \
    " (SELECT count(*) FROM @node WHERE lease > @now()) FROM @firing")                                      \
X(PARTITIONS,                                                                                               \
    "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"                       \
    " WHERE i.inhparent = '@history'::regclass AND c.relname < $1::text"                                    \
    " AND c.relname ~ '^hora_history_[0-9]{8}$' ORDER BY 1")                                                \
X(TRIM_REST, "DELETE FROM @history WHERE ended < $1::bigint")
/* clang-format on */

#define NAME(id, text) [HORA__PG_##id] = "hora_" #id,
#define TEXT(id, text) [HORA__PG_##id] = (text),
const char *const hora__pg_names[HORA__PG_STATEMENTS] = {TABLE(NAME)};
const char *const hora__pg_texts[HORA__PG_STATEMENTS] = {TABLE(TEXT)};

char *hora__pg_expand(const char *text, const char *schema)
{
    size_t prefix = strlen(schema) + strlen("\"\".hora_"), size = strlen(text) + 1;
    for (const char *c = text; *c != '\0'; c++)
        size += *c == '@' ? prefix : 0;
    char *expanded = malloc(size), *to = expanded;
    for (; expanded != NULL && *text != '\0'; text++) {
        if (*text != '@') {
            *to++ = *text;
            continue;
        }
        *to++ = '"';
        to = stpcpy(to, schema);
        to = stpcpy(to, "\".hora_");
    }
    if (expanded != NULL)
        *to = '\0';
    return expanded;
}
