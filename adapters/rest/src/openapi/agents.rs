//! Agents. The schemas of the agent object come from the domain's table.

use serde_json::json;

use crate::{
    described::{common::NoFields, operation::Operation, samples},
    resources::{
        agents::{
            self, AgentCreated,
            duplicate::AgentCopy,
            versions::{AgentDifferences, ShownVersion},
        },
        calls::{
            self,
            test_call::{Begun, NewTestCall},
        },
    },
};

const NUMBER_IN_USE: &str = "the number +15550100010 is answered by another agent";

const LIMIT: &str = "`conversationConfig.tts.stability` has no effect on voice `deepgram:aura-2-thalia-en`";

const LEFT_OUT: &str = "`phoneNumbers` is not copied, because one agent answers a number: +15550100010; give the copy \
     numbers of its own";

/// Returns the operations of agents.
pub fn operations() -> Vec<Operation> {
    let mut operations = agents();
    operations.push(duplicate());
    operations.push(test_call());
    operations.extend(versions());
    operations
}

fn test_call() -> Operation {
    let answer = json!({ "conversationId": samples::CONVERSATION, "mediaUrl": samples::media_url() });
    Operation::post(
        "/public/v1/agents/test-call",
        "createTestCall",
        "Talk to an agent over a WebSocket or in text",
    )
    .by(calls::test_call::create)
    .idempotent()
    .note(
        "The call starts when the WebSocket is open, and ends when it closes. In text it starts at once, and ends after ten \
         minutes without a text. It is deleted a day after its end.",
    )
    .body::<NewTestCall>(json!({
        "saved": { "agentId": samples::AGENT, "dynamicVariables": { "city": "Lisbon" } },
        "unsaved": { "agent": samples::new_agent() },
        "in text": { "agentId": samples::AGENT, "mode": "text" },
    }))
    .invalid("agent.name", "required", "is required")
    .warns()
    .created::<Begun>(answer)
    .link("read", "getConversation", "conversationId", "/data/conversationId")
    .link("end", "endConversation", "conversationId", "/data/conversationId")
    .missing("agent")
    .conflict("not_configured", "language model `openai/gpt` is not configured")
}

fn duplicate() -> Operation {
    Operation::post(
        "/public/v1/agents/{agentId}/duplicate",
        "duplicateAgent",
        "Create a copy of an agent",
    )
    .by(agents::duplicate::duplicate)
    .note("Numbers that the agent answers are not copied, because one agent answers a number.")
    .idempotent()
    .optional_body::<AgentCopy>(json!({ "nothing": {}, "named": { "name": "Ava, evenings" } }))
    .warns_of(LEFT_OUT)
    .versioned()
    .created::<AgentCreated>(json!({ "agentId": samples::AGENT }))
    .missing("agent")
}

fn versions() -> Vec<Operation> {
    let one = "/public/v1/agents/{agentId}/versions/{version}";
    let version = json!({ "version": 3, "savedAt": samples::AT, "changedFields": ["name", "tags"] });
    let differences = json!([
        { "path": "name", "old": "Ava", "new": "Eva" },
        { "path": "conversationConfig.agent.dynamicVariables.city", "new": "Lisbon" },
    ]);
    vec![
        Operation::get(
            "/public/v1/agents/{agentId}/versions",
            "listAgentVersions",
            "List the versions of an agent, newest first",
        )
        .by(agents::versions::list)
        .note("Each save of an agent is a version. The last 200 are kept.")
        .paged()
        .page::<ShownVersion>(version),
        Operation::get(one, "getAgentVersion", "Read an agent as it was in a version")
            .by(agents::versions::show)
            .ok_named("Agent", samples::agent()),
        Operation::get(
            "/public/v1/agents/{agentId}/versions/{version}/diff",
            "diffAgentVersions",
            "Compare a version of an agent with another one",
        )
        .by(agents::versions::diff)
        .query(
            "against",
            "Version to compare with; without it the present one",
            json!({ "type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_i64 }),
        )
        .warns_of("more than the first 200 fields may differ")
        .ok::<AgentDifferences>(json!({ "version": 3, "against": 2, "differences": differences })),
        Operation::post(
            "/public/v1/agents/{agentId}/versions/{version}/restore",
            "restoreAgentVersion",
            "Make a version of an agent the present one",
        )
        .by(agents::versions::restore)
        .note("A new save with the old content, which obeys the rules of `PATCH`.")
        .expects_version()
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .warns_of(LIMIT)
        .versioned()
        .ok_named("Agent", samples::agent())
        .invalid(
            "conversationConfig.agent.prompt.toolIds[0]",
            "not_found",
            "there is no tool `0198d1a0-0000-7000-8000-000000000010` in this account",
        )
        .conflict("number_in_use", NUMBER_IN_USE),
    ]
}

fn agents() -> Vec<Operation> {
    vec![
        Operation::get("/public/v1/agents", "listAgents", "List agents, newest first")
            .by(agents::list)
            .query("tag", "Only agents with this tag", json!({ "type": "string" }))
            .query(
                "search",
                "Text contained in the name, in any case",
                json!({ "type": "string" }),
            )
            .paged()
            .page_named("Agent", samples::agent()),
        Operation::post("/public/v1/agents/create", "createAgent", "Create an agent")
            .by(agents::create)
            .in_service_document()
            .note("Every field except the name and the prompt has a default.")
            .idempotent()
            .body_named(
                "NewAgent",
                json!({ "least": samples::least_agent(), "more": samples::new_agent() }),
            )
            .warns_of(LIMIT)
            .versioned()
            .created::<AgentCreated>(json!({ "agentId": samples::AGENT }))
            .link("read", "getAgent", "agentId", "/data/agentId")
            .link("change", "updateAgent", "agentId", "/data/agentId")
            .link("delete", "deleteAgent", "agentId", "/data/agentId")
            .invalid(
                "conversationConfig.turn.turnTimeout",
                "out_of_range",
                "40 is out of range: 1 to 30, or -1 for never",
            )
            .conflict("number_in_use", NUMBER_IN_USE),
        Operation::get(
            "/public/v1/agents/{agentId}",
            "getAgent",
            "Read an agent with all defaults",
        )
        .by(agents::show)
        .in_service_document()
        .warns_of("`workflow.nodes.ask.tools` names `t1`, and there is no such tool in this account")
        .versioned()
        .ok_named("Agent", samples::agent()),
        Operation::patch("/public/v1/agents/{agentId}", "updateAgent", "Change an agent")
            .by(agents::patch)
            .in_service_document()
            .note(
                "A JSON merge patch (RFC 7396): objects merge at any depth, arrays are replaced whole, `null` resets a \
                 field to its default.",
            )
            .body_named(
                "AgentPatch",
                json!({
                    "nothing": {},
                    "some": { "tags": ["dental", "autumn"], "conversationConfig": { "turn": { "turnTimeout": 9 } } },
                    "default": { "conversationConfig": { "tts": { "speed": null } } },
                }),
            )
            .warns_of(LIMIT)
            .versioned()
            .ok_named("Agent", samples::agent())
            .invalid("name", "required", "is required and has no default")
            .conflict("number_in_use", NUMBER_IN_USE)
            .conflict(
                "conflict",
                "it was changed by another request at the same time; read it again",
            ),
        Operation::delete("/public/v1/agents/{agentId}", "deleteAgent", "Delete an agent")
            .by(agents::delete)
            .deletes("AgentDeleted", "agentId", &json!(samples::AGENT))
            .conflict(
                "in_use",
                "the campaign `Check-ups` uses this agent; stop or delete it first",
            ),
    ]
}
