
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.forget_transcript() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM transcripts WHERE id = NEW.id;
    NEW.sentiment := NULL;
    NEW.has_issue := NULL;
    RETURN NEW;
END
$$;

CREATE FUNCTION public.queue_for_counting() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        SELECT NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)
        WHERE NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = NEW.id) ON CONFLICT (attempt) DO NOTHING;
    RETURN NULL;
END
$$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);

CREATE TABLE public.account_event_places (
    last bigint NOT NULL
);

CREATE TABLE public.account_events (
    id text NOT NULL,
    account text NOT NULL,
    type text NOT NULL,
    campaign text,
    agent text,
    attempt text,
    detail text NOT NULL,
    created_at bigint NOT NULL,
    place bigint
);

CREATE TABLE public.accounts (
    id text NOT NULL,
    email text NOT NULL,
    webhook_secret text NOT NULL,
    previous_webhook_secret text,
    previous_secret_until bigint,
    created_at bigint NOT NULL
);

CREATE TABLE public.added_api_keys (
    id text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    prefix text NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    last_used_at bigint
);

CREATE TABLE public.agent_documents (
    agent text NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.agent_groups (
    agent text NOT NULL,
    document_group text NOT NULL
);

CREATE TABLE public.agent_numbers (
    agent text NOT NULL,
    phone_number text NOT NULL,
    account text NOT NULL,
    answered bigint NOT NULL
);

CREATE TABLE public.agent_tools (
    agent text NOT NULL,
    tool text NOT NULL
);

CREATE TABLE public.agent_transfer_rules (
    agent text NOT NULL,
    rule text NOT NULL
);

CREATE TABLE public.agent_transfers (
    agent text NOT NULL,
    target text NOT NULL
);

CREATE TABLE public.agent_versions (
    agent text NOT NULL,
    version bigint NOT NULL,
    document text NOT NULL,
    changed text NOT NULL,
    saved_at bigint NOT NULL
);

CREATE TABLE public.agents (
    id text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    document text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);

CREATE TABLE public.api_keys (
    hash text NOT NULL,
    prefix text NOT NULL,
    account text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint
);

CREATE TABLE public.appointments (
    id text NOT NULL,
    account text NOT NULL,
    attempt text NOT NULL,
    provider text NOT NULL,
    calendar text NOT NULL,
    wished_at bigint NOT NULL,
    starts_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    details text NOT NULL,
    state text NOT NULL,
    event text,
    confirmed bigint NOT NULL,
    lease bigint NOT NULL,
    due_at bigint NOT NULL,
    booked_at bigint,
    created_at bigint NOT NULL
);

CREATE TABLE public.attempts (
    id text NOT NULL,
    account text NOT NULL,
    agent text NOT NULL,
    campaign text,
    contact_list bigint,
    contact_index bigint,
    attempt_no bigint NOT NULL,
    follow_up_no bigint DEFAULT 0 NOT NULL,
    retry_no bigint DEFAULT 0 NOT NULL,
    kind text NOT NULL,
    phone_number text NOT NULL,
    state text NOT NULL,
    owner text,
    epoch bigint NOT NULL,
    claimed_at bigint,
    dial_token text,
    due_at bigint NOT NULL,
    started_at bigint NOT NULL,
    dialing_at bigint,
    answered_at bigint,
    ended_at bigint,
    duration_s bigint DEFAULT 0 NOT NULL,
    carrier text,
    carrier_call text,
    caller_id text,
    status text NOT NULL,
    error text,
    voicemail bigint NOT NULL,
    transferred bigint NOT NULL,
    collected text NOT NULL,
    summary text,
    analysis text,
    created_at bigint NOT NULL,
    call_backs bigint DEFAULT 0 NOT NULL,
    words_kept bigint DEFAULT 1 NOT NULL,
    put_off_by text,
    end_written_at bigint,
    issue_tracking bigint,
    agent_version bigint,
    sentiment text,
    has_issue bigint,
    deleted_at bigint
);

CREATE TABLE public.call_counts (
    account text NOT NULL,
    level text NOT NULL,
    start_at bigint NOT NULL,
    campaign text NOT NULL,
    agent text NOT NULL,
    version bigint NOT NULL,
    counts text NOT NULL
);

CREATE TABLE public.caller_id_turns (
    agent text NOT NULL,
    permits bigint NOT NULL
);

CREATE TABLE public.calls_to_count (
    attempt text NOT NULL,
    over_at bigint NOT NULL
);

CREATE TABLE public.campaign_contacts (
    list bigint NOT NULL,
    idx bigint NOT NULL,
    phone_number text NOT NULL,
    name text,
    email text,
    extra text NOT NULL
);

CREATE TABLE public.campaigns (
    id text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    name_folded text NOT NULL,
    agent text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    active bigint NOT NULL,
    scheduled bigint NOT NULL,
    start_time text,
    end_time text,
    timezone text,
    next_run_at bigint,
    opens_from bigint,
    closes_at bigint,
    follow_up text NOT NULL,
    max_concurrent_calls bigint,
    contact_list bigint NOT NULL,
    contact_count bigint NOT NULL,
    reason text,
    importing bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    imported_by text,
    hang_up_version bigint,
    ring_timeout_s bigint
);

CREATE TABLE public.cluster (
    name text NOT NULL,
    value text NOT NULL
);

CREATE TABLE public.contact_lists (
    id bigint NOT NULL,
    next_index bigint NOT NULL
);

CREATE TABLE public.contact_states (
    list bigint NOT NULL,
    idx bigint NOT NULL,
    state text NOT NULL,
    attempts bigint NOT NULL,
    voicemail bigint NOT NULL
);

CREATE TABLE public.contacts (
    id text NOT NULL,
    account text NOT NULL,
    phone_number text NOT NULL,
    name text,
    name_folded text,
    email text,
    extra text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE public.daily_permits (
    account text NOT NULL,
    day_start bigint NOT NULL,
    permits bigint NOT NULL
);

CREATE TABLE public.deliveries (
    id text NOT NULL,
    account text NOT NULL,
    attempt text NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    lane text NOT NULL,
    state text NOT NULL,
    failed bigint NOT NULL,
    due_at bigint NOT NULL,
    lease bigint NOT NULL,
    last_error text,
    created_at bigint NOT NULL
);

CREATE TABLE public.delivery_lanes (
    lane text NOT NULL,
    proven bigint NOT NULL,
    failures bigint NOT NULL,
    hold_until bigint NOT NULL
);

CREATE TABLE public.do_not_call (
    account text NOT NULL,
    phone_number text NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE public.document_groups (
    id text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    name_folded text NOT NULL,
    name_order text NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE public.document_texts (
    document text NOT NULL,
    words text NOT NULL
);

CREATE TABLE public.documents (
    id text NOT NULL,
    account text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    name_folded text NOT NULL,
    name_order text NOT NULL,
    url text,
    characters bigint NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE public.gone_webhooks (
    account text NOT NULL,
    target text NOT NULL,
    gone_at bigint NOT NULL
);

CREATE TABLE public.group_documents (
    document_group text NOT NULL,
    place bigint NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.idempotency_keys (
    account text NOT NULL,
    idempotency_key text NOT NULL,
    operation text NOT NULL,
    request_hash text NOT NULL,
    lease text NOT NULL,
    expires_at bigint NOT NULL,
    status bigint,
    resource text
);

CREATE TABLE public.journal (
    id text NOT NULL,
    attempt text NOT NULL,
    name text NOT NULL,
    at_ms bigint NOT NULL,
    detail text NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE public.login_links (
    hash text NOT NULL,
    account text NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE public.nodes (
    id text NOT NULL,
    state text NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    steady_since bigint NOT NULL,
    address text
);

CREATE TABLE public.outbox (
    id text NOT NULL,
    kind text NOT NULL,
    attempt text NOT NULL,
    due_at bigint NOT NULL,
    tries bigint NOT NULL
);

CREATE TABLE public.safeguards (
    account text NOT NULL,
    document text NOT NULL,
    active bigint NOT NULL,
    version bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE public.sessions (
    id text NOT NULL,
    account text NOT NULL,
    hash text NOT NULL,
    key_hash text,
    key_name text,
    scopes text NOT NULL,
    key_expires_at bigint,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE public.single_calls (
    attempt text NOT NULL,
    name text,
    variables text NOT NULL,
    dial_before bigint NOT NULL
);

CREATE TABLE public.test_calls (
    attempt text NOT NULL,
    agent text
);

CREATE TABLE public.tools (
    id text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    parameters text NOT NULL,
    url text NOT NULL,
    method text NOT NULL,
    timeout_ms bigint NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE public.transcripts (
    id text NOT NULL,
    account text NOT NULL,
    started_at bigint NOT NULL,
    words tsvector NOT NULL
);

CREATE TABLE public.transfer_rules (
    id text NOT NULL,
    account text NOT NULL,
    rule text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE public.turns (
    attempt text NOT NULL,
    seq bigint NOT NULL,
    speaker text NOT NULL,
    words text NOT NULL,
    started_ms bigint NOT NULL,
    ended_ms bigint NOT NULL,
    interrupted bigint NOT NULL,
    damaged bigint NOT NULL,
    detail text
);

CREATE TABLE public.webhook_deliveries (
    id text NOT NULL,
    account text NOT NULL,
    endpoint text NOT NULL,
    event text,
    type text NOT NULL,
    lane text NOT NULL,
    state text NOT NULL,
    failed bigint NOT NULL,
    due_at bigint NOT NULL,
    lease bigint NOT NULL,
    last_error text,
    created_at bigint NOT NULL
);

CREATE TABLE public.webhook_endpoints (
    id text NOT NULL,
    account text NOT NULL,
    url text NOT NULL,
    description text NOT NULL,
    types text NOT NULL,
    enabled bigint NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until bigint,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

INSERT INTO public._sqlx_migrations VALUES (1, 'start', '2026-11-29 16:57:31.273931+00', true, '\xe3895f4ce11aeef0a3684c44cf58daa4963f067ace55a1637d62daddc41eb465377d9234882a6d643eb78daa80768772', 1008505074);
INSERT INTO public._sqlx_migrations VALUES (2, 'turns and call backs', '2026-11-29 16:57:32.292356+00', true, '\x1f66fe607b087fd2e245c17b230a2c694c3e5dd3773e60bc593bd2353ebe5dd615b5907f1f300ecf2ac6ae470f5d178d', 58138449);
INSERT INTO public._sqlx_migrations VALUES (3, 'deliveries', '2026-11-29 16:57:32.361332+00', true, '\xe949b96fa99322865d933f19ae52d3efaeda298e0c5d6f080c86d36150da4786e152a1b57562449df1b8b56ab945e4f4', 119818282);
INSERT INTO public._sqlx_migrations VALUES (4, 'tools', '2026-11-29 16:57:32.508868+00', true, '\xc6c718bc899f7c83954cc873ee09e673c8bbe2c839939468366edbaa70fe6d72fba03b5606a87c5c6b77b47f003347de', 111695465);
INSERT INTO public._sqlx_migrations VALUES (5, 'retention', '2026-11-29 16:57:32.628838+00', true, '\x1d33d94b56640c9fcc2707f396d8870eb48c3063894b516b5b91a8a9c3439eebde01a8b6ab38c78ec2d06fd79e31a595', 35992026);
INSERT INTO public._sqlx_migrations VALUES (6, 'appointments', '2026-11-29 16:57:32.672867+00', true, '\x8dc63d9706bfb78de96df639c7dd4756ef9b2308c5f6aba98dff30e6c1a1719dec790a32154e489b8ba57ceff9bf1ac4', 87128500);
INSERT INTO public._sqlx_migrations VALUES (7, 'nodes', '2026-11-29 16:57:32.764867+00', true, '\x4a8a95168e4ee6242aca39b229945631223ffa7831fafb13c528874baf308366ae886f1361b6f8c0745e0e6beda700af', 76352106);
INSERT INTO public._sqlx_migrations VALUES (8, 'safeguards', '2026-11-29 16:57:32.849165+00', true, '\xeb6c8c689874b00b126ca65b6e2b9221e898db71247e3f6b4e65436348c9864ee2c1521d726727d6a58fb90b25470aea', 66175876);
INSERT INTO public._sqlx_migrations VALUES (9, 'put off', '2026-11-29 16:57:32.937178+00', true, '\xa21debcdcb2c869c4d9bea937e8c78bf4ada2755946b7c3f435d64891d0d6d8ab0f7c1164ad8847c4973a3868ed10deb', 31954362);
INSERT INTO public._sqlx_migrations VALUES (10, 'end written', '2026-11-29 16:57:32.989236+00', true, '\x711e24e988681d7bb2194d0bc6962f9f399c2f6b8e14d4302dee95ef15f98d30d0bc9608b15bf377e39b1ba88e571c09', 42177980);
INSERT INTO public._sqlx_migrations VALUES (11, 'transfer rules', '2026-11-29 16:57:33.036859+00', true, '\x440badd161676ad46a382640776d5053e3805db0f2134ef2e2a691e2b76df9bbb93cf2a8287110df52cacf0719f046ad', 81977619);
INSERT INTO public._sqlx_migrations VALUES (12, 'issue tracking', '2026-11-29 16:57:33.129142+00', true, '\x405f5d7c76c006f06b4ab7d1cd435edbf88ee9675c2ac353d61f35a9f350720c9cb9662801334b188cb64add60602659', 11975083);
INSERT INTO public._sqlx_migrations VALUES (13, 'turn detail', '2026-11-29 16:57:33.157174+00', true, '\x3fee90624dc6d3bcb349c269bb0f421aed91f9dd8e048706706f3e7f956137c80929fd96b0fe850bf01b80a6b61fb839', 19996601);
INSERT INTO public._sqlx_migrations VALUES (14, 'agent versions', '2026-11-29 16:57:33.185247+00', true, '\x9be4300c2de07ca4d7cd4d810fbeaa3a1be7f8e2d27921ad6e758a2b0f051416b87b541d8a971c2969d9e1cb2cb2ba43', 43839607);
INSERT INTO public._sqlx_migrations VALUES (15, 'account events', '2026-11-29 16:57:33.245184+00', true, '\x352b53136e26ab76a094ba47e3eb59e1d2778b5101400cbf74560c5615863be6f66dfb1f340531cb52bd036525bf5cc1', 172261368);
INSERT INTO public._sqlx_migrations VALUES (16, 'search', '2026-11-29 16:57:33.436237+00', true, '\x1125581933df689d98675c6c3b5f2b8c810e6f2155235c7991913a2bdd5f440391300d7439424251d3214736e0671504', 49644106);
INSERT INTO public._sqlx_migrations VALUES (17, 'ring timeout', '2026-11-29 16:57:33.50117+00', true, '\x917579885878a1ddffdb58e1f4954a4f4f8cfaedf9c7b69942ffd06d2c0f312d7ac995cc6e56b9e0ca1abccf6b44aeb0', 9012616);
INSERT INTO public._sqlx_migrations VALUES (18, 'api keys', '2026-11-29 16:57:33.516835+00', true, '\x68cbbdb2e00ecb64a057cd85073525fd74fa8783f76a63074ab0789ccc0c5da225a709a9c0c58204549583d7fe93f955', 80388287);
INSERT INTO public._sqlx_migrations VALUES (19, 'analytics', '2026-11-29 16:57:33.60729+00', true, '\x86e79bfad292874aad28a55aa07ab9b01463cb5d69075869a43f3eacb07b973b87dd3dcb0126b3b291effaf74220a537', 46066153);
INSERT INTO public._sqlx_migrations VALUES (20, 'sessions', '2026-11-29 16:57:33.657263+00', true, '\x271dd21504d3246c0bc4c6ef189947050135266e6ab87d74e8febda543a83f57090bd93f575774085e7b8f4c753c7eac', 64053145);
INSERT INTO public._sqlx_migrations VALUES (21, 'appointment lists', '2026-11-29 16:57:33.725677+00', true, '\x9737146ae0c9dc808ce7349824069a7ab210fb1a485a0743e19e84ad5058663b9a3f4a4f5248911ca9e9fc326e43b50f', 16236267);
INSERT INTO public._sqlx_migrations VALUES (22, 'test calls', '2026-11-29 16:57:33.744876+00', true, '\xeb6504ab8f39fce57c72c903a4a7955e6bc1a30ddc9a7e3692e0a2f730048f987e3bb0de5b4661d9b2b3ebe23fedb4db', 42277587);

INSERT INTO public.account_event_places VALUES (7);

INSERT INTO public.account_events VALUES ('01a2283d-9bd7-7754-bfed-6a23d15aa306', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'contact.opted_out', NULL, NULL, NULL, '{}', 1795971455957565, 1);
INSERT INTO public.account_events VALUES ('01a2283d-9d6d-70c7-a25f-3e512f2fea1a', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'call.started', NULL, '01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-9c3d-7192-875b-d6a29d473fdf', '{}', 1795971456344422, 2);
INSERT INTO public.account_events VALUES ('01a2283d-ad62-70b9-b9ca-715d16cb7d3f', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'call.answered', NULL, '01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-9c3d-7192-875b-d6a29d473fdf', '{}', 1795971460449283, 3);
INSERT INTO public.account_events VALUES ('01a2283d-d14a-71a9-8cc8-5f5eb18ea5e5', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'call.ended', NULL, '01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-9c3d-7192-875b-d6a29d473fdf', '{}', 1795971469608909, 4);
INSERT INTO public.account_events VALUES ('01a2283d-d3a9-7299-8570-55a70d134006', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'campaign.draft', '01a2283d-d2d2-7491-b4be-a0caf981cfe5', '01a2283d-9a41-7087-9029-8f3018dc2f7d', NULL, '{"status":"draft"}', 1795971470175266, 5);
INSERT INTO public.account_events VALUES ('01a2283d-d44f-72cf-8865-e38e7e42ea2e', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'campaign.running', '01a2283d-d2d2-7491-b4be-a0caf981cfe5', '01a2283d-9a41-7087-9029-8f3018dc2f7d', NULL, '{"previousStatus":"draft","status":"running"}', 1795971470415535, 6);
INSERT INTO public.account_events VALUES ('01a2283d-d4e9-72a3-b1a4-55a6a8c0be0c', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'call.analysed', NULL, '01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-9c3d-7192-875b-d6a29d473fdf', '{}', 1795971470550071, 7);

INSERT INTO public.accounts VALUES ('01a2283d-93a2-719b-b8f2-0c84143eccb8', 'ada@example.com', 'whsec_tW9Ukw0ZFgjVBgFydyKDnNr9uBxZIJeUjgKTTVYuzpQ=', NULL, NULL, 1795971453859252);

INSERT INTO public.agent_versions VALUES ('01a2283d-9a41-7087-9029-8f3018dc2f7d', 1, '{"name":"Ann","conversationConfig":{"agent":{"prompt":{"prompt":"Ask for the town."}}}}', '[]', 1795971455553111);

INSERT INTO public.agents VALUES ('01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'Ann', '{"name":"Ann","conversationConfig":{"agent":{"prompt":{"prompt":"Ask for the town."}}}}', 1, 1795971455553111, 1795971455553111, NULL);

INSERT INTO public.api_keys VALUES ('78811fbe96e805966b5b8a9eb37ae1153c06d5e655a4e4fbc8f85ce37b817659', 'AfqLztOv', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 1795971453859252, 1795971455621439);

INSERT INTO public.attempts VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', '01a2283d-93a2-719b-b8f2-0c84143eccb8', '01a2283d-9a41-7087-9029-8f3018dc2f7d', NULL, NULL, NULL, 1, 0, 0, 'first', '+490305555555', 'final', '01a2283d-9768-7742-aa5b-d40a4459c15a', 1, 1795971456173084, 'f795c102f2882dd76f2e69575952e382c6590ed3fdfda1e8784abf3aa8747511', 1795971456029799, 1795971456238931, 1795971456238931, 1795971460441017, 1795971469554140, 9, 'simulated', 'CA27c1f259540d477cb4de9f18d55bcec3', NULL, 'completed', NULL, 0, 0, '{}', 'Ann spoke with the user; no data was collected. The user said: "I think it is quite good so far."', '{"summary":"Ann spoke with the user; no data was collected. The user said: \"I think it is quite good so far.\"","sentiment":{"sentiment_score":0.2469,"sentiment_by_turn":[{"text":"Hello?","sentiment_label":"neutral","speaker":"user","sentiment_score":-0.0464},{"text":"Hello! How can I help you today?","sentiment_label":"positive","speaker":"agent","sentiment_score":0.4891},{"text":"I think it is quite good so far.","sentiment_label":"positive","speaker":"user","sentiment_score":0.5402}],"sentiment_overall":"positive"},"key_moments":[{"text":"I think it is quite good so far.","label":"first_answer","speaker":"user","timestamp":"00:05"}],"appointment":{},"issues":[],"by":"rules"}', 1795971456029799, 0, 1, NULL, 1795971469608909, 0, 1, 'positive', 0, NULL);
INSERT INTO public.attempts VALUES ('01a2283d-d53d-7644-811c-c464989b0577', '01a2283d-93a2-719b-b8f2-0c84143eccb8', '01a2283d-9a41-7087-9029-8f3018dc2f7d', '01a2283d-d2d2-7491-b4be-a0caf981cfe5', 7678568693651405555, 0, 1, 0, 0, 'first', '+15550100021', 'dialing', '01a2283d-9768-7742-aa5b-d40a4459c15a', 1, 1795971470604959, '6dd014984b102fa3a28c70af825b596ef91c36df76404d8296aa1c1465053cda', 1795971470604959, 1795971470744998, 1795971470744998, NULL, NULL, 0, 'simulated', NULL, NULL, 'in_progress', NULL, 0, 0, '{}', NULL, NULL, 1795971470604959, 0, 1, NULL, NULL, NULL, 1, NULL, NULL, NULL);

INSERT INTO public.calls_to_count VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', 1795971469608909);

INSERT INTO public.campaign_contacts VALUES (7678568693651405555, 0, '+15550100021', NULL, NULL, '{"persona":"silent"}');
INSERT INTO public.campaign_contacts VALUES (7678568693651405555, 1, '+49301111111', 'Listed', NULL, '{}');
INSERT INTO public.campaign_contacts VALUES (7678568693651405555, 2, '+99912345678', 'Nobody', NULL, '{}');
INSERT INTO public.campaign_contacts VALUES (7678568693651405555, 3, '+490301234567', 'Ada of the row', NULL, '{"persona":"rejects"}');

INSERT INTO public.campaigns VALUES ('01a2283d-d2d2-7491-b4be-a0caf981cfe5', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 'Old', 'old', '01a2283d-9a41-7087-9029-8f3018dc2f7d', 'running', 2, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, '{"enabled":false,"attempts":0,"intervalsMinutes":[]}', 1, 7678568693651405555, 4, NULL, 0, 1795971470175266, 1795971470415535, NULL, '01a2283d-9768-7742-aa5b-d40a4459c15a', NULL, NULL);

INSERT INTO public.cluster VALUES ('node_times', 'heartbeat=3000 dead-after=15000 send-within=5000 settle-from=15000 settle-until=120000');
INSERT INTO public.cluster VALUES ('calls_counted_from', '00000000-0000-0000-0000-000000000000');

INSERT INTO public.contact_lists VALUES (7678568693651405555, 1);

INSERT INTO public.contact_states VALUES (7678568693651405555, 0, 'in_progress', 1, 0);

INSERT INTO public.contacts VALUES ('01a2283d-9b45-77cd-9d19-b1d4fcf9c3d3', '01a2283d-93a2-719b-b8f2-0c84143eccb8', '+490301234567', 'Old Ada', 'old ada', NULL, '{"city":"Ulm"}', 1, 1795971455813248);
INSERT INTO public.contacts VALUES ('01a2283d-9bad-757e-a0bb-aab025aa3ad2', '01a2283d-93a2-719b-b8f2-0c84143eccb8', '+99912345678', 'Nobody', 'nobody', NULL, '{}', 1, 1795971455917540);

INSERT INTO public.do_not_call VALUES ('01a2283d-93a2-719b-b8f2-0c84143eccb8', '+490301111111', 1795971455957565);

INSERT INTO public.journal VALUES ('01a2283d-9db5-7759-93a6-93dff4dd5728', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'dialed', 0, '{"carrierMs":19}', 1795971456437452);
INSERT INTO public.journal VALUES ('01a2283d-9e1c-77e9-95ca-8993f0cec3f8', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'ringing', 0, '{"afterDialMs":124}', 1795971456540908);
INSERT INTO public.journal VALUES ('01a2283d-ade1-7097-a82d-7d537e3cd00f', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'answered', 0, '{"afterDialMs":4128}', 1795971460576965);
INSERT INTO public.journal VALUES ('01a2283d-b3a3-760b-ad8a-f2fc77eb149d', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'turn_ended', 1512, '{"voiceMs":712,"pauseMs":290}', 1795971462049077);
INSERT INTO public.journal VALUES ('01a2283d-b3a3-760b-ad8a-f2fd572ba085', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'reply', 1543, '{"finalMs":-9,"turnEndMs":290,"askedMs":290,"firstTokenMs":320,"firstAudioMs":321,"playoutMs":321,"speculated":false,"filled":false}', 1795971462049077);
INSERT INTO public.journal VALUES ('01a2283d-b685-7196-9a9d-067635ada399', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'amd', 2238, '{"verdict":"human","reason":"short-and-waits","atMs":2238}', 1795971462789277);
INSERT INTO public.journal VALUES ('01a2283d-ceae-71a0-b1ae-4cdea7c536ef', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'turn_ended', 8405, '{"voiceMs":2552,"pauseMs":463}', 1795971468937981);
INSERT INTO public.journal VALUES ('01a2283d-ceae-71a0-b1ae-4cdf6b59d053', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'speculation_used', 8030, '{"tokens":12,"characters":45,"voiceCharacters":37}', 1795971468937981);
INSERT INTO public.journal VALUES ('01a2283d-ceae-71a0-b1ae-4ce0c69b6cad', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'reply', 8405, '{"finalMs":12,"turnEndMs":463,"askedMs":89,"firstTokenMs":119,"firstAudioMs":120,"playoutMs":463,"speculated":true,"filled":false}', 1795971468937981);
INSERT INTO public.journal VALUES ('01a2283d-d109-7310-b7d5-5353402c2844', '01a2283d-9c3d-7192-875b-d6a29d473fdf', 'ended', 9126, '{"status":"completed","by":"user"}', 1795971469577087);

INSERT INTO public.nodes VALUES ('01a2283d-9768-7742-aa5b-d40a4459c15a', 'live', 1795971454878328, 1795971470342128, 1795971454878328, 'http://127.0.0.1:40289');

INSERT INTO public.single_calls VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', 'Eve', '{"persona":"hangs-up"}', 1795971756029799);

INSERT INTO public.transcripts VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', '01a2283d-93a2-719b-b8f2-0c84143eccb8', 1795971456238931, '''can'':8 ''far'':21 ''good'':19 ''hello'':4,6 ''help'':10 ''how'':7 ''i'':9,14 ''is'':17 ''it'':16 ''quite'':18 ''so'':20 ''think'':15 ''today'':12 ''you'':11 ''§01a2283d93a2719bb8f20c84143eccb8'':1 ''§01a2283d9a41708790298f3018dc2f7d'':2');

INSERT INTO public.turns VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', 0, 'user', 'Hello?', 510, 1222, 0, 0, NULL);
INSERT INTO public.turns VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', 1, 'agent', 'Hello! How can I help you today?', 1543, 4624, 0, 0, '{"voice":"babble","model":"interviewer"}');
INSERT INTO public.turns VALUES ('01a2283d-9c3d-7192-875b-d6a29d473fdf', 2, 'user', 'I think it is quite good so far.', 5390, 7942, 0, 0, NULL);

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.account_events
    ADD CONSTRAINT account_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.added_api_keys
    ADD CONSTRAINT added_api_keys_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.added_api_keys
    ADD CONSTRAINT added_api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.agent_documents
    ADD CONSTRAINT agent_documents_pkey PRIMARY KEY (agent, document);

ALTER TABLE ONLY public.agent_groups
    ADD CONSTRAINT agent_groups_pkey PRIMARY KEY (agent, document_group);

ALTER TABLE ONLY public.agent_numbers
    ADD CONSTRAINT agent_numbers_pkey PRIMARY KEY (agent, phone_number);

ALTER TABLE ONLY public.agent_tools
    ADD CONSTRAINT agent_tools_pkey PRIMARY KEY (agent, tool);

ALTER TABLE ONLY public.agent_transfer_rules
    ADD CONSTRAINT agent_transfer_rules_pkey PRIMARY KEY (agent, rule);

ALTER TABLE ONLY public.agent_transfers
    ADD CONSTRAINT agent_transfers_pkey PRIMARY KEY (agent, target);

ALTER TABLE ONLY public.agent_versions
    ADD CONSTRAINT agent_versions_pkey PRIMARY KEY (agent, version);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.appointments
    ADD CONSTRAINT appointments_attempt_calendar_wished_at_key UNIQUE (attempt, calendar, wished_at);

ALTER TABLE ONLY public.appointments
    ADD CONSTRAINT appointments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_carrier_carrier_call_key UNIQUE (carrier, carrier_call);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_contact_list_contact_index_attempt_no_key UNIQUE (contact_list, contact_index, attempt_no);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.call_counts
    ADD CONSTRAINT call_counts_pkey PRIMARY KEY (account, level, start_at, campaign, agent, version);

ALTER TABLE ONLY public.caller_id_turns
    ADD CONSTRAINT caller_id_turns_pkey PRIMARY KEY (agent);

ALTER TABLE ONLY public.calls_to_count
    ADD CONSTRAINT calls_to_count_pkey PRIMARY KEY (attempt);

ALTER TABLE ONLY public.campaign_contacts
    ADD CONSTRAINT campaign_contacts_pkey PRIMARY KEY (list, idx);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_account_created_at_key UNIQUE (account, created_at);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_contact_list_key UNIQUE (contact_list);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cluster
    ADD CONSTRAINT cluster_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.contact_lists
    ADD CONSTRAINT contact_lists_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.contact_states
    ADD CONSTRAINT contact_states_pkey PRIMARY KEY (list, idx);

ALTER TABLE ONLY public.contacts
    ADD CONSTRAINT contacts_account_phone_number_key UNIQUE (account, phone_number);

ALTER TABLE ONLY public.contacts
    ADD CONSTRAINT contacts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.daily_permits
    ADD CONSTRAINT daily_permits_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.delivery_lanes
    ADD CONSTRAINT delivery_lanes_pkey PRIMARY KEY (lane);

ALTER TABLE ONLY public.do_not_call
    ADD CONSTRAINT do_not_call_pkey PRIMARY KEY (account, phone_number);

ALTER TABLE ONLY public.document_groups
    ADD CONSTRAINT document_groups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.document_texts
    ADD CONSTRAINT document_texts_pkey PRIMARY KEY (document);

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.gone_webhooks
    ADD CONSTRAINT gone_webhooks_pkey PRIMARY KEY (account, target);

ALTER TABLE ONLY public.group_documents
    ADD CONSTRAINT group_documents_pkey PRIMARY KEY (document_group, document);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account, idempotency_key);

ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.login_links
    ADD CONSTRAINT login_links_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_attempt_kind_key UNIQUE (attempt, kind);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.safeguards
    ADD CONSTRAINT safeguards_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.single_calls
    ADD CONSTRAINT single_calls_pkey PRIMARY KEY (attempt);

ALTER TABLE ONLY public.test_calls
    ADD CONSTRAINT test_calls_pkey PRIMARY KEY (attempt);

ALTER TABLE ONLY public.tools
    ADD CONSTRAINT tools_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.transcripts
    ADD CONSTRAINT transcripts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.transfer_rules
    ADD CONSTRAINT transfer_rules_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (attempt, seq);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id);

CREATE INDEX account_events_new ON public.account_events USING btree (id) WHERE (place IS NULL);

CREATE UNIQUE INDEX account_events_once ON public.account_events USING btree (attempt, type) WHERE (attempt IS NOT NULL);

CREATE INDEX account_events_places ON public.account_events USING btree (account, place);

CREATE INDEX added_api_keys_by_account ON public.added_api_keys USING btree (account);

CREATE INDEX added_api_keys_by_prefix ON public.added_api_keys USING btree (prefix);

CREATE INDEX agent_documents_by_document ON public.agent_documents USING btree (document);

CREATE INDEX agent_groups_by_group ON public.agent_groups USING btree (document_group);

CREATE UNIQUE INDEX agent_numbers_answered_once ON public.agent_numbers USING btree (phone_number) WHERE (answered = 1);

CREATE INDEX agent_numbers_by_number ON public.agent_numbers USING btree (phone_number, account);

CREATE INDEX agent_tools_by_tool ON public.agent_tools USING btree (tool);

CREATE INDEX agent_transfer_rules_by_rule ON public.agent_transfer_rules USING btree (rule);

CREATE INDEX agent_transfers_by_target ON public.agent_transfers USING btree (target);

CREATE INDEX agents_newest_first ON public.agents USING btree (account, created_at, id);

CREATE INDEX api_keys_by_account ON public.api_keys USING btree (account);

CREATE INDEX api_keys_by_prefix ON public.api_keys USING btree (prefix);

CREATE INDEX appointments_by_start ON public.appointments USING btree (account, starts_at, id) WHERE (state = 'booked'::text);

CREATE INDEX appointments_pending ON public.appointments USING btree (due_at) WHERE (state = 'pending'::text);

CREATE INDEX appointments_times ON public.appointments USING btree (calendar, starts_at) WHERE (state <> 'failed'::text);

CREATE INDEX attempts_by_agent ON public.attempts USING btree (agent, status, started_at, id, duration_s);

CREATE INDEX attempts_by_campaign ON public.attempts USING btree (campaign, status, started_at, id, duration_s);

CREATE INDEX attempts_by_change ON public.attempts USING btree (campaign, COALESCE(end_written_at, ended_at, dialing_at, created_at), id);

CREATE INDEX attempts_by_duration ON public.attempts USING btree (account, duration_s, started_at, id) WHERE (duration_s > 0);

CREATE INDEX attempts_by_number ON public.attempts USING btree (account, phone_number, dialing_at);

CREATE INDEX attempts_by_status ON public.attempts USING btree (account, status, started_at, id, duration_s);

CREATE INDEX attempts_held ON public.attempts USING btree (owner) WHERE (state = ANY (ARRAY['claimed'::text, 'dialing'::text, 'dialed'::text, 'answered'::text, 'unknown'::text]));

CREATE INDEX attempts_newest_first ON public.attempts USING btree (account, started_at, id, duration_s);

CREATE INDEX attempts_open ON public.attempts USING btree (campaign, state) WHERE (state = ANY (ARRAY['claimed'::text, 'dialing'::text, 'dialed'::text, 'answered'::text, 'unknown'::text]));

CREATE INDEX attempts_put_off ON public.attempts USING btree (account) WHERE ((state = 'queued'::text) AND (put_off_by IS NOT NULL));

CREATE INDEX attempts_queued ON public.attempts USING btree (campaign, due_at, id) WHERE (state = 'queued'::text);

CREATE INDEX attempts_sent ON public.attempts USING btree (account, phone_number) WHERE (state = ANY (ARRAY['dialing'::text, 'dialed'::text, 'answered'::text, 'unknown'::text]));

CREATE INDEX attempts_single_queued ON public.attempts USING btree (due_at, id) WHERE ((campaign IS NULL) AND (state = 'queued'::text));

CREATE INDEX attempts_with_words ON public.attempts USING btree (ended_at, id) WHERE ((state = 'final'::text) AND (words_kept = 1));

CREATE INDEX calls_to_count_in_order ON public.calls_to_count USING btree (over_at, attempt);

CREATE INDEX campaigns_by_status ON public.campaigns USING btree (status);

CREATE INDEX campaigns_importing ON public.campaigns USING btree (id) WHERE (importing = 1);

CREATE INDEX campaigns_of_active ON public.campaigns USING btree (account, active, created_at);

CREATE INDEX campaigns_of_status ON public.campaigns USING btree (account, status, created_at);

CREATE INDEX contact_states_in_order ON public.contact_states USING btree (list, state, idx);

CREATE INDEX contact_states_progress ON public.contact_states USING btree (list, voicemail, state);

CREATE INDEX contact_states_untried ON public.contact_states USING btree (list, idx) WHERE ((state = 'pending'::text) AND (attempts = 0));

CREATE INDEX contacts_newest_first ON public.contacts USING btree (account, created_at, id);

CREATE INDEX deliveries_attempt ON public.deliveries USING btree (attempt);

CREATE INDEX deliveries_due ON public.deliveries USING btree (lane, due_at, id) WHERE (state = 'pending'::text);

CREATE UNIQUE INDEX deliveries_once ON public.deliveries USING btree (attempt, kind) WHERE (kind <> 'invitation'::text);

CREATE INDEX do_not_call_newest_first ON public.do_not_call USING btree (account, created_at, phone_number);

CREATE INDEX document_groups_by_creation ON public.document_groups USING btree (account, created_at, id);

CREATE INDEX document_groups_by_name ON public.document_groups USING btree (account, name_order, id);

CREATE INDEX documents_by_creation ON public.documents USING btree (account, created_at, id);

CREATE INDEX documents_by_name ON public.documents USING btree (account, name_order, id);

CREATE INDEX group_documents_by_document ON public.group_documents USING btree (document);

CREATE INDEX idempotency_keys_by_end ON public.idempotency_keys USING btree (expires_at);

CREATE INDEX journal_by_attempt ON public.journal USING btree (attempt, id);

CREATE INDEX outbox_due ON public.outbox USING btree (kind, due_at, id);

CREATE INDEX sessions_by_account ON public.sessions USING btree (account);

CREATE INDEX tools_by_creation ON public.tools USING btree (account, created_at, id);

CREATE UNIQUE INDEX tools_by_name ON public.tools USING btree (account, name);

CREATE INDEX transcripts_words ON public.transcripts USING gin (words);

CREATE INDEX transfer_rules_by_creation ON public.transfer_rules USING btree (account, created_at, id);

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (lane, due_at, id) WHERE (state = 'pending'::text);

CREATE INDEX webhook_deliveries_event ON public.webhook_deliveries USING btree (event);

CREATE INDEX webhook_deliveries_of ON public.webhook_deliveries USING btree (endpoint, id);

CREATE INDEX webhook_endpoints_by_creation ON public.webhook_endpoints USING btree (account, created_at, id);

CREATE TRIGGER attempts_forget_transcript BEFORE UPDATE OF words_kept ON public.attempts FOR EACH ROW WHEN ((new.words_kept = 0)) EXECUTE FUNCTION public.forget_transcript();

CREATE TRIGGER attempts_to_count AFTER UPDATE OF state ON public.attempts FOR EACH ROW WHEN (((new.state = 'final'::text) AND (old.state <> 'final'::text))) EXECUTE FUNCTION public.queue_for_counting();

ALTER TABLE ONLY public.added_api_keys
    ADD CONSTRAINT added_api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.agent_documents
    ADD CONSTRAINT agent_documents_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_documents
    ADD CONSTRAINT agent_documents_document_fkey FOREIGN KEY (document) REFERENCES public.documents(id);

ALTER TABLE ONLY public.agent_groups
    ADD CONSTRAINT agent_groups_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_groups
    ADD CONSTRAINT agent_groups_document_group_fkey FOREIGN KEY (document_group) REFERENCES public.document_groups(id);

ALTER TABLE ONLY public.agent_numbers
    ADD CONSTRAINT agent_numbers_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_tools
    ADD CONSTRAINT agent_tools_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_tools
    ADD CONSTRAINT agent_tools_tool_fkey FOREIGN KEY (tool) REFERENCES public.tools(id);

ALTER TABLE ONLY public.agent_transfer_rules
    ADD CONSTRAINT agent_transfer_rules_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_transfer_rules
    ADD CONSTRAINT agent_transfer_rules_rule_fkey FOREIGN KEY (rule) REFERENCES public.transfer_rules(id);

ALTER TABLE ONLY public.agent_transfers
    ADD CONSTRAINT agent_transfers_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_transfers
    ADD CONSTRAINT agent_transfers_target_fkey FOREIGN KEY (target) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agent_versions
    ADD CONSTRAINT agent_versions_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.appointments
    ADD CONSTRAINT appointments_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.appointments
    ADD CONSTRAINT appointments_attempt_fkey FOREIGN KEY (attempt) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_campaign_fkey FOREIGN KEY (campaign) REFERENCES public.campaigns(id);

ALTER TABLE ONLY public.caller_id_turns
    ADD CONSTRAINT caller_id_turns_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_contact_list_fkey FOREIGN KEY (contact_list) REFERENCES public.contact_lists(id);

ALTER TABLE ONLY public.contacts
    ADD CONSTRAINT contacts_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.daily_permits
    ADD CONSTRAINT daily_permits_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_attempt_fkey FOREIGN KEY (attempt) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_lane_fkey FOREIGN KEY (lane) REFERENCES public.delivery_lanes(lane);

ALTER TABLE ONLY public.do_not_call
    ADD CONSTRAINT do_not_call_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.document_groups
    ADD CONSTRAINT document_groups_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.document_texts
    ADD CONSTRAINT document_texts_document_fkey FOREIGN KEY (document) REFERENCES public.documents(id);

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.gone_webhooks
    ADD CONSTRAINT gone_webhooks_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.group_documents
    ADD CONSTRAINT group_documents_document_fkey FOREIGN KEY (document) REFERENCES public.documents(id);

ALTER TABLE ONLY public.group_documents
    ADD CONSTRAINT group_documents_document_group_fkey FOREIGN KEY (document_group) REFERENCES public.document_groups(id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.login_links
    ADD CONSTRAINT login_links_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_attempt_fkey FOREIGN KEY (attempt) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.safeguards
    ADD CONSTRAINT safeguards_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.single_calls
    ADD CONSTRAINT single_calls_attempt_fkey FOREIGN KEY (attempt) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.test_calls
    ADD CONSTRAINT test_calls_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.test_calls
    ADD CONSTRAINT test_calls_attempt_fkey FOREIGN KEY (attempt) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.tools
    ADD CONSTRAINT tools_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.transcripts
    ADD CONSTRAINT transcripts_id_fkey FOREIGN KEY (id) REFERENCES public.attempts(id);

ALTER TABLE ONLY public.transfer_rules
    ADD CONSTRAINT transfer_rules_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_lane_fkey FOREIGN KEY (lane) REFERENCES public.delivery_lanes(lane);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);

