-- The tables of an agentctl database.
--
-- run          one row per run; `number` is its short name in every other table
-- start_key    the run that was started under a key, and a digest of what was asked for
-- document     plans and workflow texts by digest, compressed; shared by runs
-- task         one row per planned task: where it stands, its output or error
-- effect       the ledger: what was asked of the outside, and what came back
-- iteration    one row per turn of a loop that was looked at
-- approval     durable questions to people
-- reconciliation what was found out about effects that may have happened
-- compensation what a compensation did about each effect of its source
-- artifact     what runs refer to in the folder of artifacts, by digest
-- late_report  what an owner that had lost its lease said of its effects; evidence, no more
-- memory       the working memory of a run, newest value per key
-- stream_event bounded progress records of provider streams
-- transition   the journal: every move of every record, chained by digests; never changed.
--              The last move of a commit carries the commit's number as its `checkpoint`
-- machine_edge every move that some machine declares; a transition must be one of them
-- lease        who may write a run: the newest token wins
-- cancel_request  what somebody asked of a run's live owner
-- entity       what the control plane keeps beyond a run: assignments, documents, requests, cases;
--              the newest revision of each
-- entity_revision  every revision of every entity, with the move that made it, chained by digests;
--              never changed
-- operation    the result of every keyed call of the control plane, written with its revisions
-- migration    which migrations made this schema, with their checksums
--
-- The three tables that grow with every commit have one `key`: the run's number times 2^32 plus
-- the row's place in the run. Such rows are appended to the last page of their table, so that a
-- commit touches few pages; `run` and the place can be asked for by name all the same.
--
-- A number is never given twice, also when its run was collected: a process that was stopped for
-- long and wakes up must not find another run under it.
--
-- Instants are microseconds since 1970-01-01T00:00:00Z. JSON is canonical text; where a column is
-- ANY, long text is compressed and so a blob. A column that is
-- absent is NULL, which costs nothing.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE machine_edge (
    machine TEXT NOT NULL,
    source TEXT NOT NULL,
    event TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (machine, source, event, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE document (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    mode TEXT NOT NULL,
    workflow_name TEXT NOT NULL,
    workflow_digest TEXT NOT NULL,
    plan_digest TEXT NOT NULL REFERENCES document (digest),
    source_digest TEXT REFERENCES document (digest),
    source_run_id TEXT,
    trace_id TEXT NOT NULL,
    workspace TEXT NOT NULL,
    folder TEXT,
    file TEXT,
    inputs TEXT NOT NULL,
    vars TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    output TEXT,
    error TEXT,
    raised_budgets TEXT
) STRICT;

CREATE TABLE start_key (
    key TEXT PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES run (number),
    request_digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
    key INTEGER PRIMARY KEY,
    run INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
    position INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL,
    id TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    disposition TEXT,
    started_at INTEGER,
    ended_at INTEGER,
    due_at INTEGER,
    output ANY,
    error TEXT,
    snapshot ANY
) STRICT;

CREATE TABLE effect (
    key INTEGER PRIMARY KEY,
    run INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
    number INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL,
    position INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    id BLOB NOT NULL,
    operation TEXT NOT NULL,
    effect_class TEXT NOT NULL,
    risk TEXT NOT NULL,
    idempotency TEXT NOT NULL,
    input TEXT NOT NULL,
    input_digest BLOB NOT NULL,
    key_digest BLOB NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    dispatch INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    result TEXT,
    error TEXT
) STRICT;

CREATE TABLE iteration (
    run INTEGER NOT NULL REFERENCES run (number),
    id TEXT NOT NULL,
    parent TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (number),
    task_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    summary TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at INTEGER,
    decided_at INTEGER,
    actor TEXT,
    reason TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE reconciliation (
    run INTEGER NOT NULL REFERENCES run (number),
    effect_name TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    decided_at INTEGER,
    actor TEXT,
    reason TEXT,
    evidence TEXT,
    result TEXT,
    compensation_effect TEXT,
    spent TEXT,
    PRIMARY KEY (run, effect_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE compensation (
    run INTEGER NOT NULL REFERENCES run (number),
    effect_name TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (run, effect_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact (
    key INTEGER PRIMARY KEY,
    run INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
    number INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL,
    name TEXT NOT NULL,
    task_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    size_bytes INTEGER NOT NULL,
    logical_path TEXT NOT NULL,
    media_type TEXT,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX artifact_by_digest ON artifact (digest);

CREATE TABLE late_report (
    run INTEGER NOT NULL REFERENCES run (number),
    effect_name TEXT NOT NULL,
    token INTEGER NOT NULL,
    dispatch INTEGER NOT NULL,
    state TEXT NOT NULL,
    result TEXT,
    error TEXT,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE memory (
    run INTEGER NOT NULL REFERENCES run (number),
    key TEXT NOT NULL,
    value ANY NOT NULL,
    task_id TEXT,
    PRIMARY KEY (run, key)
) STRICT;

CREATE TABLE stream_event (
    run INTEGER NOT NULL REFERENCES run (number),
    number INTEGER NOT NULL,
    after INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    provider_sequence INTEGER,
    effect_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT NOT NULL,
    truncated INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run, number),
    UNIQUE (run, task_id, attempt, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE transition (
    key INTEGER PRIMARY KEY,
    run INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
    sequence INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL,
    machine TEXT NOT NULL,
    entity TEXT NOT NULL,
    version INTEGER NOT NULL,
    source TEXT NOT NULL,
    event TEXT NOT NULL,
    target TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT,
    detail TEXT,
    checkpoint INTEGER,
    digest BLOB NOT NULL,
    FOREIGN KEY (machine, source, event, target)
        REFERENCES machine_edge (machine, source, event, target)
) STRICT;

CREATE TABLE entity (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE entity_revision (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    revision INTEGER NOT NULL,
    machine TEXT,
    source TEXT,
    event TEXT,
    state TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (kind, id, revision),
    FOREIGN KEY (machine, source, event, state)
        REFERENCES machine_edge (machine, source, event, target)
) STRICT;

CREATE INDEX entity_revision_by_owner ON entity_revision (owner);

CREATE TABLE operation (
    key TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    result TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    run INTEGER PRIMARY KEY REFERENCES run (number),
    token INTEGER NOT NULL,
    host TEXT,
    boot TEXT,
    pid INTEGER,
    started INTEGER,
    since INTEGER,
    expires_at INTEGER
) STRICT;

CREATE TABLE cancel_request (
    run INTEGER PRIMARY KEY REFERENCES run (number),
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
