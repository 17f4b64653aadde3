PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO _sqlx_migrations VALUES(1,'start','2026-11-29 16:56:55',1,X'e3895f4ce11aeef0a3684c44cf58daa4963f067ace55a1637d62daddc41eb465377d9234882a6d643eb78daa80768772',27755265);
INSERT INTO _sqlx_migrations VALUES(2,'turns and call backs','2026-11-29 16:56:55',1,X'1f66fe607b087fd2e245c17b230a2c694c3e5dd3773e60bc593bd2353ebe5dd615b5907f1f300ecf2ac6ae470f5d178d',7857208);
INSERT INTO _sqlx_migrations VALUES(3,'deliveries','2026-11-29 16:56:55',1,X'e949b96fa99322865d933f19ae52d3efaeda298e0c5d6f080c86d36150da4786e152a1b57562449df1b8b56ab945e4f4',10588733);
INSERT INTO _sqlx_migrations VALUES(4,'tools','2026-11-29 16:56:55',1,X'c6c718bc899f7c83954cc873ee09e673c8bbe2c839939468366edbaa70fe6d72fba03b5606a87c5c6b77b47f003347de',7890612);
INSERT INTO _sqlx_migrations VALUES(5,'retention','2026-11-29 16:56:55',1,X'1d33d94b56640c9fcc2707f396d8870eb48c3063894b516b5b91a8a9c3439eebde01a8b6ab38c78ec2d06fd79e31a595',7735330);
INSERT INTO _sqlx_migrations VALUES(6,'appointments','2026-11-29 16:56:55',1,X'8dc63d9706bfb78de96df639c7dd4756ef9b2308c5f6aba98dff30e6c1a1719dec790a32154e489b8ba57ceff9bf1ac4',8414966);
INSERT INTO _sqlx_migrations VALUES(7,'nodes','2026-11-29 16:56:55',1,X'4a8a95168e4ee6242aca39b229945631223ffa7831fafb13c528874baf308366ae886f1361b6f8c0745e0e6beda700af',15942156);
INSERT INTO _sqlx_migrations VALUES(8,'safeguards','2026-11-29 16:56:55',1,X'eb6c8c689874b00b126ca65b6e2b9221e898db71247e3f6b4e65436348c9864ee2c1521d726727d6a58fb90b25470aea',10327884);
INSERT INTO _sqlx_migrations VALUES(9,'put off','2026-11-29 16:56:55',1,X'a21debcdcb2c869c4d9bea937e8c78bf4ada2755946b7c3f435d64891d0d6d8ab0f7c1164ad8847c4973a3868ed10deb',8063055);
INSERT INTO _sqlx_migrations VALUES(10,'end written','2026-11-29 16:56:55',1,X'711e24e988681d7bb2194d0bc6962f9f399c2f6b8e14d4302dee95ef15f98d30d0bc9608b15bf377e39b1ba88e571c09',11853486);
INSERT INTO _sqlx_migrations VALUES(11,'transfer rules','2026-11-29 16:56:55',1,X'440badd161676ad46a382640776d5053e3805db0f2134ef2e2a691e2b76df9bbb93cf2a8287110df52cacf0719f046ad',8014063);
INSERT INTO _sqlx_migrations VALUES(12,'issue tracking','2026-11-29 16:56:55',1,X'405f5d7c76c006f06b4ab7d1cd435edbf88ee9675c2ac353d61f35a9f350720c9cb9662801334b188cb64add60602659',15994093);
INSERT INTO _sqlx_migrations VALUES(13,'turn detail','2026-11-29 16:56:55',1,X'3fee90624dc6d3bcb349c269bb0f421aed91f9dd8e048706706f3e7f956137c80929fd96b0fe850bf01b80a6b61fb839',8420025);
INSERT INTO _sqlx_migrations VALUES(14,'agent versions','2026-11-29 16:56:55',1,X'9be4300c2de07ca4d7cd4d810fbeaa3a1be7f8e2d27921ad6e758a2b0f051416b87b541d8a971c2969d9e1cb2cb2ba43',12025609);
INSERT INTO _sqlx_migrations VALUES(15,'account events','2026-11-29 16:56:55',1,X'352b53136e26ab76a094ba47e3eb59e1d2778b5101400cbf74560c5615863be6f66dfb1f340531cb52bd036525bf5cc1',11955777);
INSERT INTO _sqlx_migrations VALUES(16,'search','2026-11-29 16:56:55',1,X'e5a53bca3ade8a633c05b43b88e2664b41da8e7b4ac7aa1fadf86506fdb62479a6106f0aa93f5e1f270a503571b5fa08',16576004);
INSERT INTO _sqlx_migrations VALUES(17,'ring timeout','2026-11-29 16:56:55',1,X'917579885878a1ddffdb58e1f4954a4f4f8cfaedf9c7b69942ffd06d2c0f312d7ac995cc6e56b9e0ca1abccf6b44aeb0',7994276);
INSERT INTO _sqlx_migrations VALUES(18,'api keys','2026-11-29 16:56:55',1,X'68cbbdb2e00ecb64a057cd85073525fd74fa8783f76a63074ab0789ccc0c5da225a709a9c0c58204549583d7fe93f955',7972775);
INSERT INTO _sqlx_migrations VALUES(19,'analytics','2026-11-29 16:56:55',1,X'f7494fadf99886fbe51652b7cd582971b4ebe0fa8da5980c1eb9158d4b775b7c8df27baa79bcca33a83bb0e214d8d37f',3907961);
INSERT INTO _sqlx_migrations VALUES(20,'sessions','2026-11-29 16:56:55',1,X'271dd21504d3246c0bc4c6ef189947050135266e6ab87d74e8febda543a83f57090bd93f575774085e7b8f4c753c7eac',5360946);
INSERT INTO _sqlx_migrations VALUES(21,'appointment lists','2026-11-29 16:56:55',1,X'9737146ae0c9dc808ce7349824069a7ab210fb1a485a0743e19e84ad5058663b9a3f4a4f5248911ca9e9fc326e43b50f',1919792);
INSERT INTO _sqlx_migrations VALUES(22,'test calls','2026-11-29 16:56:55',1,X'9dcd57c23d0b80b6c0d236217aa556fba755bf021ad028f9db891feaf53cdcc736ff5688c21c5677550a3198bcd4b14d',4598296);
CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    webhook_secret TEXT NOT NULL,
    -- The one before it, and until when that is valid.
    previous_webhook_secret TEXT,
    previous_secret_until BIGINT,
    created_at BIGINT NOT NULL
);
INSERT INTO accounts VALUES('01a2283c-ff56-73f9-a2c8-9fa4089c9632','ada@example.com','whsec_poWxne88nb2BTyifEQBpXlY8g82Nf6HLR0iR9kvc+SY=',NULL,NULL,1795971415895230);
CREATE TABLE api_keys (
    -- SHA-256 of the whole key, in hex.
    hash TEXT NOT NULL PRIMARY KEY,
    prefix TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL
, last_used_at BIGINT);
INSERT INTO api_keys VALUES('2f3b2a3dacbfa59c9d1a085012c34f10425bf2a88491eef5124cc035563df445','kqQj0vcR','01a2283c-ff56-73f9-a2c8-9fa4089c9632',1795971415895230,1795971416990085);
CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- The document's name, for the rows that show it.
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
INSERT INTO agents VALUES('01a2283d-039a-7367-a8da-ed7cfde34498','01a2283c-ff56-73f9-a2c8-9fa4089c9632','Ann','{"name":"Ann","conversationConfig":{"agent":{"prompt":{"prompt":"Ask for the town."}}}}',1,1795971416986716,1795971416986716,NULL);
CREATE TABLE agent_numbers (
    agent TEXT NOT NULL REFERENCES agents (id),
    phone_number TEXT NOT NULL,
    account TEXT NOT NULL,
    -- 1 when the agent takes the calls to it.
    answered BIGINT NOT NULL,
    PRIMARY KEY (agent, phone_number)
);
CREATE TABLE agent_transfers (
    agent TEXT NOT NULL REFERENCES agents (id),
    target TEXT NOT NULL REFERENCES agents (id),
    PRIMARY KEY (agent, target)
);
CREATE TABLE documents (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- url, text, file
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- In lower case, for the search.
    name_folded TEXT NOT NULL,
    -- That in hex, which every database puts into the same order.
    name_order TEXT NOT NULL,
    url TEXT,
    characters BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE document_texts (
    document TEXT NOT NULL PRIMARY KEY REFERENCES documents (id),
    words TEXT NOT NULL
);
CREATE TABLE document_groups (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    name_order TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE group_documents (
    document_group TEXT NOT NULL REFERENCES document_groups (id),
    -- Counts from 0 in the group.
    place BIGINT NOT NULL,
    document TEXT NOT NULL REFERENCES documents (id),
    PRIMARY KEY (document_group, document)
);
CREATE TABLE agent_documents (
    agent TEXT NOT NULL REFERENCES agents (id),
    document TEXT NOT NULL REFERENCES documents (id),
    PRIMARY KEY (agent, document)
);
CREATE TABLE agent_groups (
    agent TEXT NOT NULL REFERENCES agents (id),
    document_group TEXT NOT NULL REFERENCES document_groups (id),
    PRIMARY KEY (agent, document_group)
);
CREATE TABLE contacts (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    name TEXT,
    -- In lower case, for the search.
    name_folded TEXT,
    email TEXT,
    extra TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (account, phone_number)
);
INSERT INTO contacts VALUES('01a2283d-03b5-761f-b307-dbe8f977549d','01a2283c-ff56-73f9-a2c8-9fa4089c9632','+490301234567','Old Ada','old ada',NULL,'{"city":"Ulm"}',1,1795971417013171);
INSERT INTO contacts VALUES('01a2283d-03c7-742d-8ebf-8480f92d174c','01a2283c-ff56-73f9-a2c8-9fa4089c9632','+99912345678','Nobody','nobody',NULL,'{}',1,1795971417031525);
CREATE TABLE do_not_call (
    account TEXT NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, phone_number)
);
INSERT INTO do_not_call VALUES('01a2283c-ff56-73f9-a2c8-9fa4089c9632','+490301111111',1795971417065223);
CREATE TABLE contact_lists (
    -- A random positive number.
    id BIGINT NOT NULL PRIMARY KEY,
    -- Contacts from this index on were never claimed and have no row in contact_states.
    next_index BIGINT NOT NULL
);
INSERT INTO contact_lists VALUES(3982966939945192040,1);
CREATE TABLE campaigns (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    -- In lower case, for the search.
    name_folded TEXT NOT NULL,
    agent TEXT NOT NULL REFERENCES agents (id),
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    active BIGINT NOT NULL,
    scheduled BIGINT NOT NULL,
    start_time TEXT,
    end_time TEXT,
    timezone TEXT,
    next_run_at BIGINT,
    -- The first opening of the attached schedule; no window before it counts.
    opens_from BIGINT,
    -- When the window closes in which it runs: no permit is given from then on.
    closes_at BIGINT,
    follow_up TEXT NOT NULL,
    max_concurrent_calls BIGINT,
    contact_list BIGINT NOT NULL UNIQUE REFERENCES contact_lists (id),
    contact_count BIGINT NOT NULL,
    reason TEXT,
    -- 1 while its contacts are still being appended: no reader sees it.
    importing BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT, imported_by TEXT, hang_up_version BIGINT, ring_timeout_s BIGINT,
    UNIQUE (account, created_at)
);
INSERT INTO campaigns VALUES('01a2283d-3853-70ba-9215-74412581cd91','01a2283c-ff56-73f9-a2c8-9fa4089c9632','Old','old','01a2283d-039a-7367-a8da-ed7cfde34498','running',2,1,0,NULL,NULL,NULL,NULL,NULL,NULL,'{"enabled":false,"attempts":0,"intervalsMinutes":[]}',1,3982966939945192040,4,NULL,0,1795971430510016,1795971430553172,NULL,'01a2283d-0204-72f5-8a1c-2cab20bdd6ce',NULL,NULL);
CREATE TABLE campaign_contacts (
    list BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    phone_number TEXT NOT NULL,
    name TEXT,
    email TEXT,
    extra TEXT NOT NULL,
    PRIMARY KEY (list, idx)
);
INSERT INTO campaign_contacts VALUES(3982966939945192040,0,'+15550100021',NULL,NULL,'{"persona":"silent"}');
INSERT INTO campaign_contacts VALUES(3982966939945192040,1,'+49301111111','Listed',NULL,'{}');
INSERT INTO campaign_contacts VALUES(3982966939945192040,2,'+99912345678','Nobody',NULL,'{}');
INSERT INTO campaign_contacts VALUES(3982966939945192040,3,'+490301234567','Ada of the row',NULL,'{"persona":"rejects"}');
CREATE TABLE contact_states (
    list BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    -- pending, in_progress, completed, failed, cancelled
    state TEXT NOT NULL,
    -- How many attempt rows it has.
    attempts BIGINT NOT NULL,
    -- Its last attempt reached a machine.
    voicemail BIGINT NOT NULL,
    PRIMARY KEY (list, idx)
);
INSERT INTO contact_states VALUES(3982966939945192040,0,'in_progress',1,0);
CREATE TABLE attempts (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    agent TEXT NOT NULL REFERENCES agents (id),
    campaign TEXT REFERENCES campaigns (id),
    -- The contact that is dialed; none for a single call. It stays the list of the claim when the campaign gets another.
    contact_list BIGINT,
    contact_index BIGINT,
    attempt_no BIGINT NOT NULL,
    -- Which follow-up (0: the first call), and which retry of it.
    follow_up_no BIGINT NOT NULL DEFAULT 0,
    retry_no BIGINT NOT NULL DEFAULT 0,
    -- first, retry, follow_up
    kind TEXT NOT NULL,
    phone_number TEXT NOT NULL,
    -- queued, claimed, dialing, dialed, answered, unknown, final
    state TEXT NOT NULL,
    owner TEXT,
    epoch BIGINT NOT NULL,
    -- When it was claimed last.
    claimed_at BIGINT,
    dial_token TEXT,
    due_at BIGINT NOT NULL,
    -- When it was dialed; before that, when it is due.
    started_at BIGINT NOT NULL,
    dialing_at BIGINT,
    answered_at BIGINT,
    ended_at BIGINT,
    -- From the answer to the end; 0 while it lasts and for one that nobody answered.
    duration_s BIGINT NOT NULL DEFAULT 0,
    carrier TEXT,
    carrier_call TEXT,
    caller_id TEXT,
    -- The conversation's status, kept in step with state.
    status TEXT NOT NULL,
    error TEXT,
    voicemail BIGINT NOT NULL,
    transferred BIGINT NOT NULL,
    collected TEXT NOT NULL,
    summary TEXT,
    analysis TEXT,
    created_at BIGINT NOT NULL, call_backs BIGINT NOT NULL DEFAULT 0, words_kept BIGINT NOT NULL DEFAULT 1, put_off_by TEXT, end_written_at BIGINT, issue_tracking BIGINT, agent_version BIGINT, sentiment TEXT, has_issue BIGINT, deleted_at BIGINT,
    UNIQUE (contact_list, contact_index, attempt_no),
    UNIQUE (carrier, carrier_call)
);
INSERT INTO attempts VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a','01a2283c-ff56-73f9-a2c8-9fa4089c9632','01a2283d-039a-7367-a8da-ed7cfde34498',NULL,NULL,NULL,1,0,0,'first','+490305555555','final','01a2283d-0204-72f5-8a1c-2cab20bdd6ce',1,1795971417145223,'b2fb2ce2dea80c521ae3ba6d22756eecdfa35198d8f3d2e3c5efca0c7b9a265f',1795971417098556,1795971417192571,1795971417192571,1795971421166421,1795971430228425,9,'simulated','CA465ffa9cbcf1432d9f2af367ed010610',NULL,'completed',NULL,0,0,'{}',NULL,NULL,1795971417098556,0,1,NULL,1795971430232374,0,1,NULL,NULL,NULL);
INSERT INTO attempts VALUES('01a2283d-38c5-7186-bb1a-b9878106699d','01a2283c-ff56-73f9-a2c8-9fa4089c9632','01a2283d-039a-7367-a8da-ed7cfde34498','01a2283d-3853-70ba-9215-74412581cd91',3982966939945192040,0,1,0,0,'first','+15550100021','dialing','01a2283d-0204-72f5-8a1c-2cab20bdd6ce',1,1795971430574610,'a7416140f571b4ec3246dc44786c97e7f2007a4f51e95ed8f4f8e378f22df824',1795971430574610,1795971430636170,1795971430636170,NULL,NULL,0,'simulated',NULL,NULL,'in_progress',NULL,0,0,'{}',NULL,NULL,1795971430574610,0,1,NULL,NULL,NULL,1,NULL,NULL,NULL);
CREATE TABLE single_calls (
    attempt TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id),
    name TEXT,
    variables TEXT NOT NULL,
    -- It is not dialed from then on.
    dial_before BIGINT NOT NULL
);
INSERT INTO single_calls VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a','Eve','{"persona":"hangs-up"}',1795971717098556);
CREATE TABLE turns (
    attempt TEXT NOT NULL,
    seq BIGINT NOT NULL,
    speaker TEXT NOT NULL,
    words TEXT NOT NULL,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT NOT NULL,
    interrupted BIGINT NOT NULL,
    damaged BIGINT NOT NULL, detail TEXT,
    PRIMARY KEY (attempt, seq)
);
INSERT INTO turns VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a',0,'user','Hello?',500,1212,0,0,NULL);
INSERT INTO turns VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a',1,'agent','Hello! How can I help you today?',1512,4542,0,0,'{"voice":"babble","model":"interviewer"}');
INSERT INTO turns VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a',2,'user','I think it is quite good so far.',5300,7852,0,0,NULL);
CREATE TABLE journal (
    id TEXT NOT NULL PRIMARY KEY,
    attempt TEXT NOT NULL,
    name TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    detail TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
INSERT INTO journal VALUES('01a2283d-04d9-7628-af94-16566851da97','01a2283d-040b-76e7-aebe-cd41b8d08d2a','dialed',0,'{"carrierMs":5}',1795971417305439);
INSERT INTO journal VALUES('01a2283d-0541-7205-9d6b-8f6477be8111','01a2283d-040b-76e7-aebe-cd41b8d08d2a','ringing',0,'{"afterDialMs":110}',1795971417409875);
INSERT INTO journal VALUES('01a2283d-1456-75c8-b389-f07c65bd66f5','01a2283d-040b-76e7-aebe-cd41b8d08d2a','answered',0,'{"afterDialMs":3968}',1795971421270405);
INSERT INTO journal VALUES('01a2283d-1a35-7298-8051-de1f471634b3','01a2283d-040b-76e7-aebe-cd41b8d08d2a','turn_ended',1499,'{"voiceMs":712,"pauseMs":287}',1795971422771976);
INSERT INTO journal VALUES('01a2283d-1a35-7298-8051-de2043a69b51','01a2283d-040b-76e7-aebe-cd41b8d08d2a','reply',1512,'{"finalMs":15,"turnEndMs":287,"askedMs":287,"firstTokenMs":298,"firstAudioMs":300,"playoutMs":300,"speculated":false,"filled":false}',1795971422771976);
INSERT INTO journal VALUES('01a2283d-1d19-77a9-960f-944bd7b12b06','01a2283d-040b-76e7-aebe-cd41b8d08d2a','amd',2228,'{"verdict":"human","reason":"short-and-waits","atMs":2228}',1795971423513471);
INSERT INTO journal VALUES('01a2283d-34de-74f7-ab7b-3fcf0836e357','01a2283d-040b-76e7-aebe-cd41b8d08d2a','turn_ended',8321,'{"voiceMs":2552,"pauseMs":469}',1795971429597674);
INSERT INTO journal VALUES('01a2283d-34de-74f7-ab7b-3fd0b11eb745','01a2283d-040b-76e7-aebe-cd41b8d08d2a','speculation_used',7958,'{"tokens":12,"characters":45,"voiceCharacters":37}',1795971429597674);
INSERT INTO journal VALUES('01a2283d-34de-74f7-ab7b-3fd18c8e3c16','01a2283d-040b-76e7-aebe-cd41b8d08d2a','reply',8320,'{"finalMs":5,"turnEndMs":469,"askedMs":108,"firstTokenMs":119,"firstAudioMs":120,"playoutMs":468,"speculated":true,"filled":false}',1795971429597674);
INSERT INTO journal VALUES('01a2283d-3755-7529-96c2-28dc2963bd7d','01a2283d-040b-76e7-aebe-cd41b8d08d2a','ended',9062,'{"status":"completed","by":"user"}',1795971430229683);
CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    -- live, dead
    state TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    -- Its last sign of life.
    seen_at BIGINT NOT NULL,
    -- Since when it gave one after the other without a gap.
    steady_since BIGINT NOT NULL
, address TEXT);
INSERT INTO nodes VALUES('01a2283d-0204-72f5-8a1c-2cab20bdd6ce','live',1795971416587306,1795971428769576,1795971416587306,NULL);
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    attempt TEXT NOT NULL REFERENCES attempts (id),
    due_at BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    UNIQUE (attempt, kind)
);
INSERT INTO outbox VALUES('01a2283d-375b-721c-92b8-f33f66e95a86','analysis','01a2283d-040b-76e7-aebe-cd41b8d08d2a',1795971430232374,0);
CREATE TABLE idempotency_keys (
    account TEXT NOT NULL REFERENCES accounts (id),
    idempotency_key TEXT NOT NULL,
    operation TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    -- New with every reservation.
    lease TEXT NOT NULL,
    -- From then on the key is free: the end of the reservation, or of the day after its success.
    expires_at BIGINT NOT NULL,
    -- Of the answer, and the id of what was made; both are set by a success.
    status BIGINT,
    resource TEXT,
    PRIMARY KEY (account, idempotency_key)
);
CREATE TABLE caller_id_turns (
    agent TEXT NOT NULL PRIMARY KEY REFERENCES agents (id),
    permits BIGINT NOT NULL
);
CREATE TABLE delivery_lanes (
    lane TEXT NOT NULL PRIMARY KEY,
    -- 1 once something arrived.
    proven BIGINT NOT NULL,
    -- In a row, up to the last try.
    failures BIGINT NOT NULL,
    -- Nothing of it is tried before, as its receiver wished.
    hold_until BIGINT NOT NULL
);
CREATE TABLE deliveries (
    -- `webhook-id` of all its tries.
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    attempt TEXT NOT NULL REFERENCES attempts (id),
    -- webhook, email, invitation
    kind TEXT NOT NULL,
    -- The address of a webhook; recipients, subject and content of a mail as JSON; the appointment of an invitation.
    target TEXT NOT NULL,
    lane TEXT NOT NULL REFERENCES delivery_lanes (lane),
    -- pending, done, given_up
    state TEXT NOT NULL,
    -- Tries that are known to have failed: its step of the schedule.
    failed BIGINT NOT NULL,
    -- When it is tried next; while it is leased, the end of the lease.
    due_at BIGINT NOT NULL,
    -- How often it was leased.
    lease BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL
);
CREATE TABLE gone_webhooks (
    account TEXT NOT NULL REFERENCES accounts (id),
    target TEXT NOT NULL,
    gone_at BIGINT NOT NULL,
    PRIMARY KEY (account, target)
);
CREATE TABLE tools (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- What a model calls it.
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    -- A JSON Schema as JSON text.
    parameters TEXT NOT NULL,
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    timeout_ms BIGINT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE agent_tools (
    agent TEXT NOT NULL REFERENCES agents (id),
    tool TEXT NOT NULL REFERENCES tools (id),
    PRIMARY KEY (agent, tool)
);
CREATE TABLE appointments (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    attempt TEXT NOT NULL REFERENCES attempts (id),
    -- ics, cal.com, google
    provider TEXT NOT NULL,
    -- An event type, or a calendar's id; empty for an invitation.
    calendar TEXT NOT NULL,
    -- As it was wished for: with call and calendar the key by which a wish is known again.
    wished_at BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    -- Title, zone, person and notes as JSON.
    details TEXT NOT NULL,
    -- pending, booked, failed
    state TEXT NOT NULL,
    -- The calendar's id of it.
    event TEXT,
    confirmed BIGINT NOT NULL,
    -- How often it was leased.
    lease BIGINT NOT NULL,
    -- The end of the lease.
    due_at BIGINT NOT NULL,
    booked_at BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (attempt, calendar, wished_at)
);
CREATE TABLE cluster (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO cluster VALUES('calls_counted_from','00000000-0000-0000-0000-000000000000');
INSERT INTO cluster VALUES('node_times','heartbeat=3000 dead-after=15000 send-within=5000 settle-from=15000 settle-until=120000');
CREATE TABLE safeguards (
    account TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    -- The rules as JSON.
    document TEXT NOT NULL,
    -- 1 while one of them is on: permits read no others.
    active BIGINT NOT NULL,
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE daily_permits (
    account TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    day_start BIGINT NOT NULL,
    permits BIGINT NOT NULL
);
CREATE TABLE transfer_rules (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- Name, condition, kind and destination, as JSON.
    rule TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE agent_transfer_rules (
    agent TEXT NOT NULL REFERENCES agents (id),
    rule TEXT NOT NULL REFERENCES transfer_rules (id),
    PRIMARY KEY (agent, rule)
);
CREATE TABLE agent_versions (
    agent TEXT NOT NULL REFERENCES agents (id),
    version BIGINT NOT NULL,
    document TEXT NOT NULL,
    -- Paths of the fields that the save changed, as JSON.
    changed TEXT NOT NULL,
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (agent, version)
);
INSERT INTO agent_versions VALUES('01a2283d-039a-7367-a8da-ed7cfde34498',1,'{"name":"Ann","conversationConfig":{"agent":{"prompt":{"prompt":"Ask for the town."}}}}','[]',1795971416986716);
CREATE TABLE account_events (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    type TEXT NOT NULL,
    campaign TEXT,
    agent TEXT,
    attempt TEXT,
    -- JSON object. An event of a call is completed from its attempt when it is read.
    detail TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- Place in the order of all events, given after the commit: an event is never seen behind a later one.
    place BIGINT
);
INSERT INTO account_events VALUES('01a2283d-03e9-7327-b397-dc455cb8aba2','01a2283c-ff56-73f9-a2c8-9fa4089c9632','contact.opted_out',NULL,NULL,NULL,'{}',1795971417065223,1);
INSERT INTO account_events VALUES('01a2283d-0476-71c3-b3d7-4b985277ce95','01a2283c-ff56-73f9-a2c8-9fa4089c9632','call.started',NULL,'01a2283d-039a-7367-a8da-ed7cfde34498','01a2283d-040b-76e7-aebe-cd41b8d08d2a','{}',1795971417204390,2);
INSERT INTO account_events VALUES('01a2283d-13fd-71f9-8432-6b386a058243','01a2283c-ff56-73f9-a2c8-9fa4089c9632','call.answered',NULL,'01a2283d-039a-7367-a8da-ed7cfde34498','01a2283d-040b-76e7-aebe-cd41b8d08d2a','{}',1795971421180156,3);
INSERT INTO account_events VALUES('01a2283d-375a-7493-a8fb-58e7f77b92ea','01a2283c-ff56-73f9-a2c8-9fa4089c9632','call.ended',NULL,'01a2283d-039a-7367-a8da-ed7cfde34498','01a2283d-040b-76e7-aebe-cd41b8d08d2a','{}',1795971430232374,4);
INSERT INTO account_events VALUES('01a2283d-386f-755b-846e-b610f325a5c4','01a2283c-ff56-73f9-a2c8-9fa4089c9632','campaign.draft','01a2283d-3853-70ba-9215-74412581cd91','01a2283d-039a-7367-a8da-ed7cfde34498',NULL,'{"status":"draft"}',1795971430510016,5);
INSERT INTO account_events VALUES('01a2283d-3899-70c9-8671-6d7f0374f2a0','01a2283c-ff56-73f9-a2c8-9fa4089c9632','campaign.running','01a2283d-3853-70ba-9215-74412581cd91','01a2283d-039a-7367-a8da-ed7cfde34498',NULL,'{"previousStatus":"draft","status":"running"}',1795971430553172,6);
CREATE TABLE account_event_places (last BIGINT NOT NULL);
INSERT INTO account_event_places VALUES(6);
CREATE TABLE webhook_endpoints (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    url TEXT NOT NULL,
    description TEXT NOT NULL,
    -- Types and groups of types, as a JSON array.
    types TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until BIGINT,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE webhook_deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- None for a test.
    event TEXT,
    type TEXT NOT NULL,
    -- One for each endpoint.
    lane TEXT NOT NULL REFERENCES delivery_lanes (lane),
    -- As in `deliveries`.
    state TEXT NOT NULL,
    failed BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    lease BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL
);
CREATE TABLE transcripts (
    place INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE REFERENCES attempts (id),
    account TEXT NOT NULL,
    started_at BIGINT NOT NULL
);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','transcript_words','transcript_words',0,'CREATE VIRTUAL TABLE transcript_words USING fts5 (words, content = '''', columnsize = 0, tokenize = ''ascii'')');
CREATE TABLE IF NOT EXISTS 'transcript_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO transcript_words_data VALUES(1,X'');
INSERT INTO transcript_words_data VALUES(10,X'00000001000000');
CREATE TABLE IF NOT EXISTS 'transcript_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS 'transcript_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO transcript_words_config VALUES('secure-delete',1);
INSERT INTO transcript_words_config VALUES('version',4);
CREATE TABLE added_api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    -- SHA-256 of the whole key, in hex.
    hash TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    -- Names, separated by spaces.
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);
CREATE TABLE calls_to_count (
    attempt TEXT NOT NULL PRIMARY KEY,
    over_at BIGINT NOT NULL
);
INSERT INTO calls_to_count VALUES('01a2283d-040b-76e7-aebe-cd41b8d08d2a',1795971430232374);
CREATE TABLE call_counts (
    account TEXT NOT NULL,
    -- hour or day, followed by what its rows are separated by: /campaign, /agent (with version), or both.
    level TEXT NOT NULL,
    -- Start of the hour or day in UTC.
    start_at BIGINT NOT NULL,
    -- Empty without a campaign, and in levels that are not separated by it; so is the agent.
    campaign TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- 0 if it is not known.
    version BIGINT NOT NULL,
    -- JSON object.
    counts TEXT NOT NULL,
    PRIMARY KEY (account, level, start_at, campaign, agent, version)
);
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- SHA-256 of the token, in hex.
    hash TEXT NOT NULL UNIQUE,
    -- Hash of the key; null after a login link, and for the session that deleted its own key.
    key_hash TEXT,
    -- Name, scopes and end of the key where it is not there to be asked.
    key_name TEXT,
    scopes TEXT NOT NULL,
    key_expires_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE TABLE login_links (
    -- SHA-256 of the token, in hex.
    hash TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    expires_at BIGINT NOT NULL
);
CREATE TABLE test_calls (
    attempt TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id),
    -- Agent that was not saved: a row of `agents` that is deleted from the first. Null for a saved one.
    agent TEXT REFERENCES agents (id)
);
CREATE INDEX api_keys_by_prefix ON api_keys (prefix);
CREATE INDEX api_keys_by_account ON api_keys (account);
CREATE INDEX agents_newest_first ON agents (account, created_at, id);
CREATE INDEX agent_numbers_by_number ON agent_numbers (phone_number, account);
CREATE UNIQUE INDEX agent_numbers_answered_once ON agent_numbers (phone_number) WHERE answered = 1;
CREATE INDEX agent_transfers_by_target ON agent_transfers (target);
CREATE INDEX documents_by_creation ON documents (account, created_at, id);
CREATE INDEX documents_by_name ON documents (account, name_order, id);
CREATE INDEX document_groups_by_creation ON document_groups (account, created_at, id);
CREATE INDEX document_groups_by_name ON document_groups (account, name_order, id);
CREATE INDEX group_documents_by_document ON group_documents (document);
CREATE INDEX agent_documents_by_document ON agent_documents (document);
CREATE INDEX agent_groups_by_group ON agent_groups (document_group);
CREATE INDEX contacts_newest_first ON contacts (account, created_at, id);
CREATE INDEX do_not_call_newest_first ON do_not_call (account, created_at, phone_number);
CREATE INDEX campaigns_by_status ON campaigns (status);
CREATE INDEX campaigns_of_status ON campaigns (account, status, created_at);
CREATE INDEX campaigns_of_active ON campaigns (account, active, created_at);
CREATE INDEX campaigns_importing ON campaigns (id) WHERE importing = 1;
CREATE INDEX contact_states_untried ON contact_states (list, idx) WHERE state = 'pending' AND attempts = 0;
CREATE INDEX contact_states_progress ON contact_states (list, voicemail, state);
CREATE INDEX contact_states_in_order ON contact_states (list, state, idx);
CREATE INDEX attempts_queued ON attempts (campaign, due_at, id) WHERE state = 'queued';
CREATE INDEX attempts_open ON attempts (campaign, state)
    WHERE state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown');
CREATE INDEX attempts_held ON attempts (owner)
    WHERE state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown');
CREATE INDEX attempts_sent ON attempts (account, phone_number)
    WHERE state IN ('dialing', 'dialed', 'answered', 'unknown');
CREATE INDEX attempts_newest_first ON attempts (account, started_at, id, duration_s);
CREATE INDEX attempts_by_status ON attempts (account, status, started_at, id, duration_s);
CREATE INDEX attempts_by_agent ON attempts (agent, status, started_at, id, duration_s);
CREATE INDEX attempts_by_campaign ON attempts (campaign, status, started_at, id, duration_s);
CREATE INDEX attempts_by_duration ON attempts (account, duration_s, started_at, id) WHERE duration_s > 0;
CREATE INDEX attempts_single_queued ON attempts (due_at, id) WHERE campaign IS NULL AND state = 'queued';
CREATE INDEX journal_by_attempt ON journal (attempt, id);
CREATE INDEX outbox_due ON outbox (kind, due_at, id);
CREATE INDEX idempotency_keys_by_end ON idempotency_keys (expires_at);
CREATE UNIQUE INDEX deliveries_once ON deliveries (attempt, kind) WHERE kind <> 'invitation';
CREATE INDEX deliveries_attempt ON deliveries (attempt);
CREATE INDEX deliveries_due ON deliveries (lane, due_at, id) WHERE state = 'pending';
CREATE UNIQUE INDEX tools_by_name ON tools (account, name);
CREATE INDEX tools_by_creation ON tools (account, created_at, id);
CREATE INDEX agent_tools_by_tool ON agent_tools (tool);
CREATE INDEX attempts_with_words ON attempts (ended_at, id) WHERE state = 'final' AND words_kept = 1;
CREATE INDEX appointments_pending ON appointments (due_at) WHERE state = 'pending';
CREATE INDEX appointments_times ON appointments (calendar, starts_at) WHERE state <> 'failed';
CREATE INDEX attempts_by_number ON attempts (account, phone_number, dialing_at);
CREATE INDEX attempts_put_off ON attempts (account) WHERE state = 'queued' AND put_off_by IS NOT NULL;
CREATE INDEX attempts_by_change ON attempts (campaign, COALESCE(end_written_at, ended_at, dialing_at, created_at), id);
CREATE INDEX transfer_rules_by_creation ON transfer_rules (account, created_at, id);
CREATE INDEX agent_transfer_rules_by_rule ON agent_transfer_rules (rule);
CREATE INDEX account_events_new ON account_events (id) WHERE place IS NULL;
CREATE INDEX account_events_places ON account_events (account, place);
CREATE UNIQUE INDEX account_events_once ON account_events (attempt, type) WHERE attempt IS NOT NULL;
CREATE INDEX webhook_endpoints_by_creation ON webhook_endpoints (account, created_at, id);
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (endpoint, id);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (lane, due_at, id) WHERE state = 'pending';
CREATE INDEX added_api_keys_by_prefix ON added_api_keys (prefix);
CREATE INDEX added_api_keys_by_account ON added_api_keys (account);
CREATE INDEX calls_to_count_in_order ON calls_to_count (over_at, attempt);
CREATE INDEX sessions_by_account ON sessions (account);
CREATE INDEX appointments_by_start ON appointments (account, starts_at, id) WHERE state = 'booked';
CREATE TRIGGER attempts_to_count AFTER UPDATE OF state ON attempts
WHEN NEW.state = 'final' AND OLD.state <> 'final' AND NOT EXISTS (SELECT 1 FROM test_calls WHERE attempt = NEW.id)
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        VALUES (NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)) ON CONFLICT (attempt) DO NOTHING;
END;
PRAGMA writable_schema=OFF;
COMMIT;
