-- insert_run --
-- A new run, before its first move.
INSERT INTO run (id, state, version, mode, workflow_name, workflow_digest, plan_digest,
                 source_digest, source_run_id, trace_id, workspace, folder, file, inputs,
                 vars, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- insert_start_key --
-- The one run under a key.
INSERT INTO start_key (key, run, request_digest) VALUES (?, ?, ?)

-- started_under --
-- The run under a key.
SELECT run.id, request_digest FROM start_key JOIN run ON run.number = start_key.run WHERE key = ?

-- start_key_of --
-- The key that a run was started under.
SELECT key FROM start_key JOIN run ON run.number = start_key.run WHERE run.id = ?

-- update_run --
-- Compare and set: changes nothing when the version is stale.
UPDATE run SET state = ?, version = ?, ended_at = ?, output = ?, error = ?, raised_budgets = ?
 WHERE number = ? AND version = ?

-- insert_document --
-- Equal documents are kept once.
INSERT INTO document (digest, kind, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING

-- insert_task --
-- A planned task that has not moved.
INSERT INTO task (key, id, state, version, attempt) VALUES (?, ?, ?, ?, ?)

-- update_task --
-- Compare and set.
UPDATE task SET state = ?, version = ?, attempt = ?, disposition = ?, started_at = ?,
                ended_at = ?, due_at = ?, output = ?, error = ?, snapshot = ?
 WHERE key = ? AND version = ?

-- insert_effect --
-- A new line of the ledger.
INSERT INTO effect (key, position, attempt, ordinal, id, operation, effect_class, risk,
                    idempotency, input, input_digest, key_digest, state, version, dispatch,
                    requested_at, started_at, ended_at, result, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- update_effect --
-- Compare and set.
UPDATE effect SET state = ?, version = ?, dispatch = ?, started_at = ?, ended_at = ?,
                  result = ?, error = ?
 WHERE key = ? AND version = ?

-- insert_iteration --
-- A loop's turn that is looked at for the first time.
INSERT INTO iteration (run, id, parent, position, state, version) VALUES (?, ?, ?, ?, ?, ?)

-- update_iteration --
-- Compare and set.
UPDATE iteration SET state = ?, version = ? WHERE run = ? AND id = ? AND version = ?

-- insert_approval --
-- A durable question.
INSERT INTO approval (id, run, task_id, effect_id, request_digest, summary, state, version,
                      requested_at, expires_at, decided_at, actor, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- update_approval --
-- Compare and set.
UPDATE approval SET state = ?, version = ?, decided_at = ?, actor = ?, reason = ?
 WHERE id = ? AND version = ?

-- insert_reconciliation --
-- The first finding about an effect.
INSERT INTO reconciliation (run, effect_name, effect_id, state, version, opened_at, decided_at,
                            actor, reason, evidence, result, compensation_effect, spent)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- update_reconciliation --
-- Compare and set.
UPDATE reconciliation SET state = ?, version = ?, decided_at = ?, actor = ?, reason = ?,
                          evidence = ?, result = ?, compensation_effect = ?, spent = ?
 WHERE run = ? AND effect_name = ? AND version = ?

-- insert_compensation --
-- One effect of the source that a compensation undoes.
INSERT INTO compensation (run, effect_name, effect_id, task_id, state, version)
VALUES (?, ?, ?, ?, ?, ?)

-- update_compensation --
-- Compare and set.
UPDATE compensation SET state = ?, version = ? WHERE run = ? AND effect_name = ? AND version = ?

-- insert_artifact --
-- A run's reference to kept bytes.
INSERT INTO artifact (key, name, task_id, digest, size_bytes, logical_path, media_type, state,
                      version, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- update_artifact --
-- Compare and set.
UPDATE artifact SET state = ?, version = ? WHERE key = ? AND version = ?

-- put_memory --
-- The newest value of a key.
INSERT INTO memory (run, key, value, task_id) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, task_id = excluded.task_id

-- insert_stream_event --
-- One progress record, under the run's next number.
INSERT INTO stream_event (run, number, after, task_id, attempt, sequence, provider_sequence,
                          effect_id, event_type, payload, truncated, at)
VALUES (?, (SELECT coalesce(max(number), 0) + 1 FROM stream_event WHERE run = ?),
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- insert_transition --
-- One move; the foreign key refuses what no machine declares.
INSERT INTO transition (key, machine, entity, version, source, event, target, at, actor, detail,
                        checkpoint, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- lease_token --
-- The newest owner of a run.
SELECT token FROM lease WHERE run = ?

-- lease --
-- Who owns a run.
SELECT token, host, boot, pid, started, since, expires_at FROM lease WHERE run = ?

-- take_lease --
-- Become the owner under the next token.
INSERT INTO lease (run, token, host, boot, pid, started, since, expires_at)
VALUES (:run, 1, :host, :boot, :pid, :started, :since, :expires_at)
    ON CONFLICT DO UPDATE SET token = token + 1, host = excluded.host, boot = excluded.boot,
        pid = excluded.pid, started = excluded.started, since = excluded.since,
        expires_at = excluded.expires_at
 RETURNING token

-- renew_lease --
-- Stay the owner.
UPDATE lease SET expires_at = ? WHERE run = ? AND token = ?

-- release_lease --
-- Stop being the owner; the token stays, so that it is never given twice.
UPDATE lease SET host = NULL, boot = NULL, pid = NULL, started = NULL, since = NULL,
                 expires_at = NULL
 WHERE run = ? AND token = ?

-- run_number --
-- A run's short name.
SELECT number FROM run WHERE id = ?

-- run --
-- One run with its plan.
SELECT run.*, document.body AS plan FROM run JOIN document ON digest = plan_digest WHERE id = ?

-- run_source --
-- The workflow text that a run was compiled from, where it was kept.
SELECT body FROM document JOIN run ON digest = source_digest WHERE id = :id

-- tasks --
-- The tasks of a run in compiled order.
SELECT * FROM task WHERE key >= :run << 32 AND key < (:run + 1) << 32 ORDER BY key

-- effects --
-- The ledger of a run, oldest request first, with the ids of its tasks.
SELECT effect.*, task.id AS task_id
  FROM effect JOIN task ON task.key = (:run << 32) + effect.position
 WHERE effect.key >= :run << 32 AND effect.key < (:run + 1) << 32 ORDER BY effect.key

-- iterations --
-- The turns of a run's loops.
SELECT * FROM iteration WHERE run = :run ORDER BY parent, position

-- approvals --
-- The questions of a run.
SELECT * FROM approval WHERE run = :run

-- reconciliations --
-- What was found out about a run's effects.
SELECT * FROM reconciliation WHERE run = :run ORDER BY effect_name

-- compensations --
-- What a compensation did so far.
SELECT * FROM compensation WHERE run = :run ORDER BY effect_name

-- artifacts --
-- What a run refers to, in the order it was kept.
SELECT * FROM artifact WHERE key >= :run << 32 AND key < (:run + 1) << 32 ORDER BY key

-- artifact_references --
-- Every reference with its run, oldest first.
SELECT artifact.*, run.id AS run_id FROM artifact JOIN run ON run.number = artifact.run
 ORDER BY artifact.key

-- artifact_blobs --
-- Everything that is referred to, with how often.
SELECT digest, max(size_bytes) AS size_bytes, count(*) AS uses FROM artifact
 GROUP BY digest ORDER BY digest

-- artifact_is_used --
-- Whether any run refers to some bytes.
SELECT EXISTS (SELECT 1 FROM artifact WHERE digest = ?)

-- insert_late_report --
-- What an owner without a lease says of an effect.
INSERT INTO late_report (run, effect_name, token, dispatch, state, result, error, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- late_reports --
-- What came too late about a run's effects, oldest first.
SELECT * FROM late_report WHERE run = :run ORDER BY rowid

-- list_approvals --
-- The questions of every run, with the run, oldest first; no states let everything through.
SELECT approval.*, run.id AS run_id FROM approval JOIN run ON run.number = approval.run
 WHERE (:states IS NULL OR approval.state IN (SELECT value FROM json_each(:states)))
 ORDER BY approval.requested_at, approval.id

-- approval_run --
-- The run of a question.
SELECT run.id FROM approval JOIN run ON run.number = approval.run WHERE approval.id = ?

-- effect_run --
-- The runs of the effects whose id, in hex, begins so. Rare, so it may read the whole ledger.
SELECT run.id AS run_id, lower(hex(effect.id)) AS effect_id
  FROM effect JOIN run ON run.number = effect.run
 WHERE substr(hex(effect.id), 1, length(:beginning)) = upper(:beginning) LIMIT 2

-- memory --
-- The working memory of a run.
SELECT key, value FROM memory WHERE run = :run ORDER BY key

-- stream_events --
-- The progress records of a run from a number on, as they were stored.
SELECT * FROM stream_event WHERE run = :run AND number > :after ORDER BY number

-- stream_counts --
-- How many progress records each attempt has.
SELECT task_id, attempt, max(sequence) AS count FROM stream_event
 WHERE run = :run GROUP BY task_id, attempt

-- transitions --
-- The journal of a run from a sequence number on.
SELECT * FROM transition WHERE key > (:run << 32) + :after AND key < (:run + 1) << 32 ORDER BY key

-- journal_head --
-- The last link of a run's chain, and the number of its last commit.
SELECT sequence, digest, checkpoint FROM transition
 WHERE key >= :run << 32 AND key < (:run + 1) << 32 ORDER BY key DESC LIMIT 1

-- checkpoints --
-- The commits of a run.
SELECT checkpoint AS number, sequence AS last_sequence, at FROM transition
 WHERE key >= :run << 32 AND key < (:run + 1) << 32 AND checkpoint IS NOT NULL ORDER BY key

-- list_runs --
-- Runs, newest first; a filter that is NULL lets everything through.
SELECT * FROM run
 WHERE (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
   AND (:workflow IS NULL OR workflow_name = :workflow)
   AND (:created_before IS NULL OR created_at <= :created_before)
 ORDER BY number DESC LIMIT :limit

-- runs_made_from --
-- The runs of one mode that were made from a run, oldest first.
SELECT id FROM run WHERE source_run_id = ? AND mode = ? ORDER BY number

-- run_ids --
-- Every run, newest first, whatever state its row is in.
SELECT id FROM run ORDER BY number DESC

-- request_cancel --
-- The newest request stands.
INSERT INTO cancel_request (run, actor, reason, at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET actor = excluded.actor, reason = excluded.reason, at = excluded.at

-- cancel_request --
-- What was asked of a run's owner.
SELECT actor, reason FROM cancel_request WHERE run = ?

-- runs_over --
-- The runs that are over, newest first.
SELECT number, id, workflow_name, state, coalesce(ended_at, created_at) AS ended_at FROM run
 WHERE state IN (SELECT value FROM json_each(:states)) ORDER BY number DESC

-- has_doubt --
-- Whether an effect of a run may have happened and nobody found out.
SELECT EXISTS (
    SELECT 1 FROM effect
     WHERE effect.key >= :run << 32 AND effect.key < (:run + 1) << 32
       AND effect.state IN (SELECT value FROM json_each(:unsettled))
       AND NOT EXISTS (
           SELECT 1 FROM reconciliation
            WHERE reconciliation.run = :run
              AND reconciliation.effect_id = lower(hex(effect.id))
              AND reconciliation.state IN (SELECT value FROM json_each(:decided))))

-- is_being_compensated --
-- Whether a run that is not over undoes the effects of this one.
SELECT id FROM run WHERE source_run_id = :id AND mode = 'compensation'
   AND state NOT IN (SELECT value FROM json_each(:states)) LIMIT 1

-- forget_tasks --
-- Every row of a run that goes.
DELETE FROM task WHERE key >= :run << 32 AND key < (:run + 1) << 32

-- forget_effects --
-- Every row of a run that goes.
DELETE FROM effect WHERE key >= :run << 32 AND key < (:run + 1) << 32

-- forget_artifacts --
-- Every row of a run that goes.
DELETE FROM artifact WHERE key >= :run << 32 AND key < (:run + 1) << 32

-- forget_transitions --
-- Every row of a run that goes.
DELETE FROM transition WHERE key >= :run << 32 AND key < (:run + 1) << 32

-- forget_iterations --
-- Every row of a run that goes.
DELETE FROM iteration WHERE run = :run

-- forget_approvals --
-- Every row of a run that goes.
DELETE FROM approval WHERE run = :run

-- forget_reconciliations --
-- Every row of a run that goes.
DELETE FROM reconciliation WHERE run = :run

-- forget_compensations --
-- Every row of a run that goes.
DELETE FROM compensation WHERE run = :run

-- forget_late_reports --
-- Every row of a run that goes.
DELETE FROM late_report WHERE run = :run

-- forget_memory --
-- Every row of a run that goes.
DELETE FROM memory WHERE run = :run

-- forget_stream_events --
-- Every row of a run that goes.
DELETE FROM stream_event WHERE run = :run

-- forget_lease --
-- Every row of a run that goes.
DELETE FROM lease WHERE run = :run

-- forget_cancel_request --
-- Every row of a run that goes.
DELETE FROM cancel_request WHERE run = :run

-- forget_start_key --
-- Every row of a run that goes.
DELETE FROM start_key WHERE run = :run

-- forget_run --
-- The run itself, last.
DELETE FROM run WHERE number = :run

-- orphaned_documents --
-- Documents that no run refers to, without the runs that would go.
SELECT digest, kind, length(body) AS size_bytes FROM document
 WHERE digest NOT IN (
    SELECT plan_digest FROM run WHERE number NOT IN (SELECT value FROM json_each(:going))
     UNION
    SELECT source_digest FROM run WHERE number NOT IN (SELECT value FROM json_each(:going))
       AND source_digest IS NOT NULL)
 ORDER BY digest

-- forget_document --
-- A document that nothing refers to.
DELETE FROM document WHERE digest = ?

-- freed_artifacts --
-- What only the runs that would go refer to.
SELECT digest FROM artifact WHERE run IN (SELECT value FROM json_each(:going))
EXCEPT
SELECT digest FROM artifact WHERE run NOT IN (SELECT value FROM json_each(:going))

-- entity --
-- One entity as it is now.
SELECT * FROM entity WHERE kind = ? AND id = ?

-- entities --
-- Those of one kind, of one owner or of all, oldest first.
SELECT * FROM entity WHERE kind = :kind AND (:owner IS NULL OR owner = :owner)
 ORDER BY created_at, id

-- insert_entity --
-- An entity's first revision.
INSERT INTO entity (kind, id, owner, state, revision, body, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- update_entity --
-- Compare and set.
UPDATE entity SET state = ?, revision = ?, body = ?, updated_at = ?
 WHERE kind = ? AND id = ? AND revision = ?

-- insert_entity_revision --
-- One revision; the foreign key refuses a move that no machine declares.
INSERT INTO entity_revision (kind, id, owner, revision, machine, source, event, state, body,
                             created_at, updated_at, actor, run_id, operation, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- entity_chain_head --
-- The digest of the newest revision of all.
SELECT digest FROM entity_revision ORDER BY sequence DESC LIMIT 1

-- all_entity_revisions --
-- Every revision of every entity, in the order in which they were made.
SELECT * FROM entity_revision ORDER BY sequence

-- all_entities --
-- Every entity as it is now.
SELECT * FROM entity ORDER BY kind, id

-- entity_revisions --
-- Every revision of one entity, oldest first.
SELECT * FROM entity_revision WHERE kind = ? AND id = ? ORDER BY revision

-- entity_history --
-- The newest revisions of all that belongs to one assignment, newest first.
SELECT * FROM entity_revision WHERE owner = ? ORDER BY sequence DESC LIMIT ?

-- operation --
-- The call that was made under a key.
SELECT * FROM operation WHERE key = ?

-- insert_operation --
-- A call's result, kept with what it changed.
INSERT INTO operation (key, run_id, operation, request_digest, result, at)
VALUES (?, ?, ?, ?, ?, ?)

-- operation_result --
-- The result of one run's call.
SELECT result FROM operation WHERE key = :key AND run_id = :id

-- effect_result --
-- The result that the ledger of one run has under a key, whatever it changed.
SELECT effect.result FROM effect JOIN run ON run.number = effect.run
 WHERE run.id = :id AND 'agentctl-' || lower(hex(effect.key_digest)) = :key
   AND effect.result IS NOT NULL

-- forget_operations --
-- Every row of a run that goes; what its calls made stays.
DELETE FROM operation WHERE run_id = (SELECT id FROM run WHERE number = :run)
