/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_sql.h - the tables of a store in SQLite, and all statements on them
 *
 * Each connection prepares a statement when it first needs it, and keeps it. Names and payloads are always
 * parameters.
 *
 * hora_firing is the hot table. Its indices are partial, so a row that waits is only in the index by due
 * time, a row that is claimed only in the index by owner, and a row without key or series not in theirs. A
 * statement uses such an index only if it repeats the condition of the index. The
 * index by due time contains the handler, so that a claim passes over rows of other handlers without reading
 * them, and the id, so that rows with equal times come in the order of their ids without sorting. */
#ifndef HORA_STORE_SQLITE_SQL_H
#define HORA_STORE_SQLITE_SQL_H

/* Version 1 of the tables.
 *
 * hora_meta has one row. `compatible` is the oldest version of hora's tables whose nodes can work with these.
 * next_id and next_series are the next ids of a firing and of a series. Ids are never used again, since the
 * fences of a row start from 0. `changes` grows with every change that a node
 * should hear of, and `cancels` with every claimed firing that is cancelled.
 *
 * In hora_firing, `started` means that a START was accepted for the claim, and ran_planned is the planned
 * time of that run; or that which a handler has handed back. `forked` means that a FORK was accepted: another row has the key. change_due is NULL if
 * no change is recorded. */
#define HORA__TABLES_1                                                                                 \
    "CREATE TABLE hora_meta ("                                                                         \
    "  id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, compatible INTEGER NOT NULL,"  \
    "  store BLOB NOT NULL, next_id INTEGER NOT NULL, next_series INTEGER NOT NULL,"                   \
    "  changes INTEGER NOT NULL, cancels INTEGER NOT NULL) STRICT;"                                    \
    "CREATE TABLE hora_node ("                                                                         \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, incarnation BLOB NOT NULL, name TEXT NOT NULL,"           \
    "  ttl INTEGER NOT NULL, started INTEGER NOT NULL, lease INTEGER NOT NULL) STRICT;"                \
    "CREATE TABLE hora_series ("                                                                       \
    "  id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, key TEXT NOT NULL, definition TEXT,"         \
    "  payload BLOB) STRICT;"                                                                          \
    "CREATE TABLE hora_firing ("                                                                       \
    "  id INTEGER PRIMARY KEY, handler TEXT NOT NULL, key TEXT, series INTEGER NOT NULL DEFAULT 0,"    \
    "  lane INTEGER NOT NULL, planned INTEGER NOT NULL, due INTEGER NOT NULL,"                         \
    "  owner INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0,"                            \
    "  attempt INTEGER NOT NULL DEFAULT 0, firings INTEGER NOT NULL DEFAULT 0,"                        \
    "  gave_up INTEGER NOT NULL DEFAULT 0, last_end INTEGER NOT NULL DEFAULT 0,"                       \
    "  last_code INTEGER NOT NULL DEFAULT 0, last_success INTEGER NOT NULL DEFAULT 0,"                 \
    "  paused INTEGER NOT NULL DEFAULT 0, started INTEGER NOT NULL DEFAULT 0,"                         \
    "  forked INTEGER NOT NULL DEFAULT 0, ran_planned INTEGER NOT NULL DEFAULT 0,"                     \
    "  change_due INTEGER, change_cancel INTEGER NOT NULL DEFAULT 0, history INTEGER NOT NULL,"        \
    "  revision INTEGER NOT NULL, definition TEXT, payload BLOB) STRICT;"                              \
    "CREATE INDEX hora_firing_due ON hora_firing (lane, due, id, handler)"                             \
    "  WHERE owner = 0 AND paused = 0;"                                                                \
    "CREATE INDEX hora_firing_owner ON hora_firing (owner) WHERE owner <> 0;"                          \
    "CREATE UNIQUE INDEX hora_firing_key ON hora_firing (key) WHERE key IS NOT NULL;"                  \
    "CREATE INDEX hora_firing_series ON hora_firing (series) WHERE series <> 0;"                       \
    "CREATE TABLE hora_dead ("                                                                         \
    "  id INTEGER PRIMARY KEY, handler TEXT NOT NULL, key TEXT, series INTEGER NOT NULL,"              \
    "  lane INTEGER NOT NULL, planned INTEGER NOT NULL, due INTEGER NOT NULL, fence INTEGER NOT NULL," \
    "  attempt INTEGER NOT NULL, firings INTEGER NOT NULL, gave_up INTEGER NOT NULL,"                  \
    "  last_end INTEGER NOT NULL, last_code INTEGER NOT NULL, last_success INTEGER NOT NULL,"          \
    "  history INTEGER NOT NULL, revision INTEGER NOT NULL, definition TEXT, payload BLOB) STRICT;"    \
    "CREATE INDEX hora_dead_key ON hora_dead (key) WHERE key IS NOT NULL;"                             \
    "CREATE INDEX hora_dead_series ON hora_dead (series) WHERE series <> 0;"                           \
    "CREATE TABLE hora_history ("                                                                      \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER NOT NULL, handler TEXT NOT NULL, key TEXT,"  \
    "  outcome INTEGER NOT NULL, code INTEGER NOT NULL, planned INTEGER NOT NULL,"                     \
    "  started INTEGER NOT NULL, ended INTEGER NOT NULL, attempt INTEGER NOT NULL,"                    \
    "  fence INTEGER NOT NULL, node INTEGER NOT NULL, skipped INTEGER NOT NULL, note BLOB) STRICT;"    \
    "CREATE INDEX hora_history_key ON hora_history (key, id) WHERE key IS NOT NULL;"                   \
    "CREATE INDEX hora_history_outcome ON hora_history (outcome, id) WHERE outcome <> 1;"              \
    "CREATE INDEX hora_history_ended ON hora_history (ended);"

/* Columns of hora_firing in the order of hora__sqlite_row. */
#define HORA__COLUMNS                                                                               \
    "id, series, lane, planned, due, owner, fence, attempt, firings, gave_up, last_end, last_code," \
    " last_success, paused, started, forked, ran_planned, change_due, change_cancel, history, revision"

/* Columns of a task, in the order that sqlite_query.c reads. ?1 to ?8: key, length and bytes of a prefix,
 * handler, state, after_id, limit. The state is that of hora_durable_state. */
#define HORA__SELECT_FIRINGS                                                                             \
    "SELECT f.id, f.handler, f.key, CASE WHEN f.owner <> 0 THEN 2 WHEN f.paused THEN 3 ELSE 1 END AS"    \
    " state, f.series <> 0, f.revision, f.planned, f.due, f.attempt, f.fence, f.owner, f.firings,"       \
    " f.gave_up, f.last_end, f.last_code, f.last_success, f.lane, coalesce(s.definition, f.definition)," \
    " CASE WHEN f.series = 0 THEN f.payload ELSE s.payload END"                                          \
    " FROM hora_firing f LEFT JOIN hora_series s ON s.id = f.series"
#define HORA__SELECT_DEAD                                                                                \
    "SELECT f.id, f.handler, f.key, 4, f.series <> 0, f.revision, f.planned, f.due, f.attempt, f.fence," \
    " 0, f.firings, f.gave_up, f.last_end, f.last_code, f.last_success, f.lane,"                         \
    " coalesce(s.definition, f.definition), CASE WHEN f.series = 0 THEN f.payload ELSE s.payload END"    \
    " FROM hora_dead f LEFT JOIN hora_series s ON s.id = f.series"
#define HORA__SELECT_RECORDS                                                                             \
    "SELECT id, task, handler, key, outcome, code, planned, started, ended, attempt, fence, node, note," \
    " skipped FROM hora_history"

/* Columns of a claim, in the order that sqlite_node.c reads. */
#define HORA__SELECT_CLAIMS                                                                                \
    "SELECT id, series, CASE WHEN series <> 0 THEN (SELECT revision FROM hora_series s"                    \
    " WHERE s.id = hora_firing.series) END, planned, due, fence, attempt, firings, gave_up, last_end,"     \
    " last_success, history, lane, forked, ran_planned = planned, handler, CASE WHEN forked THEN (SELECT " \
    "key FROM hora_series s"                                                                               \
    " WHERE s.id = hora_firing.series) ELSE key END, definition, payload FROM hora_firing"
/* What can be claimed: lane, earliest and latest due time, limit. */
#define HORA__WHERE_DUE                                                       \
    " WHERE lane = ?1 AND owner = 0 AND paused = 0 AND due BETWEEN ?2 AND ?3" \
    " AND hora_handler(handler) >= 0 ORDER BY due, id LIMIT ?4"

/* X(name, text) */
#define HORA__SQL_TABLE(X)                                                                                  \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                             \
    X(COMMIT, "COMMIT")                                                                                     \
    X(ROLLBACK, "ROLLBACK")                                                                                 \
    X(SAVEPOINT, "SAVEPOINT hora_put")                                                                      \
    X(RELEASE, "RELEASE hora_put")                                                                          \
    X(META, "SELECT next_id, next_series, changes FROM hora_meta")                                          \
    X(SET_META, "UPDATE hora_meta SET next_id = ?1, next_series = ?2, changes = changes + 1")               \
    X(CHANGES, "SELECT changes, cancels FROM hora_meta")                                                    \
    X(CHANGED, "UPDATE hora_meta SET changes = changes + 1, cancels = cancels + ?1")                        \
    X(TAKE_ID, "UPDATE hora_meta SET next_id = next_id + 1 RETURNING next_id - 1")                          \
    /* put */                                                                                               \
    X(INSERT, "INSERT INTO hora_firing (id, handler, key, series, lane, planned, due, history,"             \
              " revision, definition, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")      \
    X(INSERT_SERIES, "INSERT INTO hora_series (id, revision, key, definition, payload)"                     \
                     " VALUES (?1, 1, ?2, ?3, ?4)")                                                         \
    X(CHANGE_SERIES, "UPDATE hora_series SET revision = revision + 1, definition = ?2, payload = ?3"        \
                     " WHERE id = ?1")                                                                      \
    X(SAME_SERIES, "SELECT definition IS ?2 FROM hora_series WHERE id = ?1")                                \
    X(REPLACE, "UPDATE hora_firing SET handler = ?2, series = ?3, lane = ?4, history = ?5,"                 \
               " revision = ?6, definition = ?7, payload = ?8 WHERE id = ?1")                               \
    X(FREE_SERIES, "DELETE FROM hora_series WHERE id = ?1"                                                  \
                   " AND NOT EXISTS (SELECT 1 FROM hora_firing WHERE series = ?1 AND series <> 0)"          \
                   " AND NOT EXISTS (SELECT 1 FROM hora_dead WHERE series = ?1 AND series <> 0)")           \
    /* rows */                                                                                              \
    X(ROW, "SELECT " HORA__COLUMNS " FROM hora_firing WHERE id = ?1")                                       \
    X(ROW_OF_KEY, "SELECT " HORA__COLUMNS " FROM hora_firing WHERE key = ?1")                               \
    X(ROW_OF_OWNER,                                                                                         \
      "SELECT " HORA__COLUMNS " FROM hora_firing WHERE owner = ?1 AND owner <> 0 ORDER BY id LIMIT 1")      \
    X(ROW_OF_SERIES,                                                                                        \
      "SELECT " HORA__COLUMNS " FROM hora_firing WHERE series = ?1 AND series <> 0 AND id > ?2"             \
      " ORDER BY id LIMIT 1")                                                                               \
    X(HEAD_OF_SERIES, "SELECT " HORA__COLUMNS " FROM hora_firing WHERE series = ?1 AND series <> 0"         \
                      " AND key IS NOT NULL")                                                               \
    X(SAVE, "UPDATE hora_firing SET planned = ?2, due = ?3, owner = ?4, attempt = ?5, firings = ?6,"        \
            " gave_up = ?7, last_end = ?8, last_code = ?9, last_success = ?10, paused = ?11,"               \
            " started = ?12, forked = ?13, ran_planned = ?14, change_due = ?15, change_cancel = ?16"        \
            " WHERE id = ?1")                                                                               \
    X(DELETE, "DELETE FROM hora_firing WHERE id = ?1")                                                      \
    X(BURY, "INSERT INTO hora_dead (id, handler, key, series, lane, planned, due, fence, attempt,"          \
            " firings, gave_up, last_end, last_code, last_success, history, revision, definition,"          \
            " payload) SELECT id, handler, key, series, lane, planned, due, fence, attempt, firings,"       \
            " gave_up, last_end, last_code, last_success, history, revision, definition, payload"           \
            " FROM hora_firing WHERE id = ?1")                                                              \
    X(RECORD, "INSERT INTO hora_history (task, handler, key, outcome, code, planned, started, ended,"       \
              " attempt, fence, node, skipped, note) SELECT f.id, f.handler, coalesce(f.key, s.key), ?2,"   \
              " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM hora_firing f LEFT JOIN hora_series s"            \
              " ON s.id = f.series WHERE f.id = ?1")                                                        \
    /* settle */                                                                                            \
    X(DONE, "DELETE FROM hora_firing WHERE id = ?1 AND owner = ?2 AND fence = ?3 AND series = 0"            \
            " AND change_due IS NULL")                                                                      \
    X(ADVANCE, "UPDATE hora_firing SET planned = ?4, due = ?5, owner = 0, attempt = 0,"                     \
               " firings = firings + 1, gave_up = ?6, last_end = ?7, last_code = ?8,"                       \
               " last_success = CASE WHEN ?9 THEN ?7 ELSE last_success END"                                 \
               " WHERE id = ?1 AND owner = ?2 AND fence = ?3 AND started = 0 AND forked = 0"                \
               " AND change_due IS NULL AND change_cancel = 0")                                             \
    X(COUNT_FORKED,                                                                                         \
      "SELECT count(*) FROM hora_firing WHERE series = ?1 AND series <> 0 AND id <> ?2 AND forked = 1")     \
    X(DROP_KEY, "UPDATE hora_firing SET key = NULL WHERE id = ?1")                                          \
    X(KEY, "SELECT key FROM hora_firing WHERE id = ?1")                                                     \
    X(FORK, "INSERT INTO hora_firing (id, handler, key, series, lane, planned, due, fence, firings,"        \
            " gave_up, last_end, last_code, last_success, paused, history, revision, definition,"           \
            " payload) SELECT ?2, handler, ?3, series, lane, ?4, ?5, 0, firings + 1, gave_up,"              \
            " last_end, last_code, last_success, ?6, history, revision, definition, payload"                \
            " FROM hora_firing WHERE id = ?1")                                                              \
    /* nodes */                                                                                             \
    X(JOIN, "INSERT INTO hora_node (incarnation, name, ttl, started, lease) VALUES (?1, ?2, ?3, ?4, ?5)")   \
    X(LEASE, "SELECT lease FROM hora_node WHERE id = ?1 AND incarnation = ?2")                              \
    X(RENEW, "UPDATE hora_node SET lease = ?2 WHERE id = ?1")                                               \
    X(DUE, HORA__SELECT_CLAIMS HORA__WHERE_DUE)                                                             \
    X(CLAIMED, HORA__SELECT_CLAIMS " WHERE owner = ?1 AND owner <> 0 ORDER BY id")                          \
    X(CLAIM, "UPDATE hora_firing SET owner = ?5, fence = fence + 1, attempt = attempt + 1"                  \
             " WHERE id IN (SELECT id FROM hora_firing" HORA__WHERE_DUE ")")                                \
    X(NEXT_DUE, "SELECT min(due) FROM hora_firing WHERE lane = ?1 AND owner = 0 AND paused = 0"             \
                " AND due >= ?2")                                                                           \
    X(CANCELLED,                                                                                            \
      "SELECT id FROM hora_firing WHERE owner = ?1 AND owner <> 0 AND change_cancel = 1 ORDER BY id")       \
    X(SERIES, "SELECT revision, definition, payload FROM hora_series WHERE id = ?1")                        \
    X(ENDED, "SELECT count(*) FROM hora_node WHERE lease <= ?1 OR lease > ?1 + ttl")                        \
    X(SHORTEN, "UPDATE hora_node SET lease = ?1 + ttl WHERE lease > ?1 + ttl")                              \
    X(LOST, "SELECT id FROM hora_firing WHERE owner <> 0 AND owner IN (SELECT id FROM hora_node"            \
            " WHERE lease <= ?1) ORDER BY id LIMIT ?2")                                                     \
    X(DELETE_ENDED, "DELETE FROM hora_node WHERE lease <= ?1 AND NOT EXISTS (SELECT 1 FROM hora_firing"     \
                    " WHERE owner = hora_node.id AND owner <> 0)")                                          \
    X(DELETE_NODE, "DELETE FROM hora_node WHERE id = ?1")                                                   \
    /* change */                                                                                            \
    X(DEAD_OF_KEY, "SELECT id, series FROM hora_dead WHERE key = ?1 ORDER BY id DESC LIMIT 1")              \
    X(DEAD_OF_ID, "SELECT id, series FROM hora_dead WHERE id = ?1")                                         \
    X(KEY_EXISTS, "SELECT 1 FROM hora_firing WHERE key = (SELECT key FROM hora_dead WHERE id = ?1)")        \
    X(REVIVE, "INSERT INTO hora_firing (id, handler, key, series, lane, planned, due, fence, firings,"      \
              " last_end, last_code, last_success, history, revision, definition, payload)"                 \
              " SELECT id, handler, key, series, lane, ?2, ?2, fence, firings, last_end, last_code,"        \
              " last_success, history, revision, definition, payload FROM hora_dead WHERE id = ?1")         \
    X(DELETE_DEAD, "DELETE FROM hora_dead WHERE id = ?1")                                                   \
    /* look */                                                                                              \
    X(LIST_KEY,                                                                                             \
      HORA__SELECT_FIRINGS " WHERE f.key = ?1 AND (?2 IS NULL OR substr(CAST(f.key AS BLOB), 1,"            \
                           " ?2) = ?3) AND (?4 IS NULL OR f.handler = ?4) AND (?5 = 0 OR state = ?5)"       \
                           " AND f.id > ?6 LIMIT ?7")                                                       \
    X(LIST, HORA__SELECT_FIRINGS                                                                            \
      " WHERE ?1 IS NULL AND (?2 IS NULL OR substr(CAST(f.key AS BLOB), 1, ?2)"                             \
      " = ?3) AND (?4 IS NULL OR f.handler = ?4) AND (?5 = 0 OR state = ?5) AND f.id > ?6"                  \
      " ORDER BY f.id LIMIT ?7")                                                                            \
    X(LIST_DEAD,                                                                                            \
      HORA__SELECT_DEAD " WHERE (?1 IS NULL OR f.key = ?1) AND (?2 IS NULL OR"                              \
                        " substr(CAST(f.key AS BLOB), 1, ?2) = ?3) AND (?4 IS NULL OR f.handler = ?4)"      \
                        " AND ?5 = 4 AND f.id > ?6 ORDER BY f.id LIMIT ?7")                                 \
    X(RECORDS, HORA__SELECT_RECORDS " WHERE ?1 IS NULL AND (?2 = 0 OR outcome = ?2)"                        \
                                    " AND (?3 = 0 OR outcome IN (2, 3, 4)) AND ended >= ?4 AND id < ?5"     \
                                    " ORDER BY id DESC LIMIT ?6")                                           \
    X(RECORDS_KEY, HORA__SELECT_RECORDS " WHERE key = ?1 AND (?2 = 0 OR outcome = ?2)"                      \
                                        " AND (?3 = 0 OR outcome IN (2, 3, 4)) AND ended >= ?4 AND id < ?5" \
                                        " ORDER BY id DESC LIMIT ?6")                                       \
    X(TRIM, "DELETE FROM hora_history WHERE ended < ?1")                                                    \
    X(COUNT_WAITING, "SELECT count(*) FROM hora_firing WHERE owner = 0 AND paused = 0")                     \
    X(COUNT_CLAIMED, "SELECT count(*) FROM hora_firing WHERE owner <> 0")                                   \
    X(COUNT_PAUSED, "SELECT count(*) FROM hora_firing WHERE owner = 0 AND paused = 1")                      \
    X(COUNT_DEAD, "SELECT count(*) FROM hora_dead")                                                         \
    X(COUNT_OVERDUE, "SELECT count(*) FROM hora_firing WHERE owner = 0 AND paused = 0"                      \
                     " AND lane BETWEEN 0 AND 3 AND due <= ?1")                                             \
    X(COUNT_NODES, "SELECT count(*) FROM hora_node WHERE lease > ?1")

typedef enum hora__sql {
#define HORA__SQL_NAME(name, text) HORA__SQL_##name,
    HORA__SQL_TABLE(HORA__SQL_NAME)
#undef HORA__SQL_NAME
        HORA__SQL_COUNT,
} hora__sql;

#endif
