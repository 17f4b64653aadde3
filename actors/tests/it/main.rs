//! Tests of whole actors under a paused clock: one file per behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod another_agent;
mod audio_stream;
mod audio_stream_support;
mod call;
mod call_duration;
mod call_support;
mod callbacks;
mod coming_back;
mod commands;
mod crashes;
mod dialing;
mod graph_calls;
mod graph_takeover;
mod inbound;
mod inbound_calls;
mod journal;
mod knowledge;
mod languages;
mod limits;
mod live_feed;
mod machines;
mod midcall;
mod nodes;
mod operators;
mod orphaned;
mod outages;
mod outside_tools;
mod protected_words;
mod provider_faults;
mod provider_outages;
mod retries;
mod retrieval;
mod schedule_oracle;
mod schedules;
mod scripted_stream;
mod single_calls;
mod slots;
mod speculation;
mod support;
