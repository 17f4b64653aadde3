//! A graph as the official `elevenlabs` package (2.78.0) writes it: `AgentWorkflowRequestModel` in snake_case, with `null`.

use serde_json::{Value, json};

use super::*;
use crate::{agent::validate_create, id::ToolId};

fn workflow(tool: ToolId) -> Value {
    json!({
        "prevent_subagent_loops": null,
        "nodes": {
            "start_node": { "type": "start", "position": { "x": 0.0, "y": 0.0 }, "edge_order": ["edge_1"] },
            "node_sales": { "type": "override_agent", "label": "Sales", "position": null, "edge_order": ["edge_3", "edge_2"],
                "conversation_config": {
                    "asr": null, "tts": { "voice_id": "v1", "speed": null },
                    "agent": { "first_message": "Hi.", "language": "de", "prompt": { "llm": "gpt-4o", "tool_ids": ["t"] },
                        "dynamic_variables": { "dynamic_variable_placeholders": { "my_plan": "basic" } } } },
                "additional_prompt": "Sell.", "additional_tool_ids": [],
                "additional_knowledge_base": [{ "type": "file", "name": "Prices", "id": "d1", "usage_mode": "auto" }],
                "entry_behavior": "generate_immediately" },
            "node_tool": { "type": "tool", "tools": [{ "tool_id": tool.to_string(), "schema_overrides": null }] },
            "node_say": { "type": "say", "label": "Thanks", "message": { "type": "literal", "text": "Thanks." },
                "wait_for_user_response": true },
            "node_end": { "type": "end", "outcome": "success" },
        },
        "edges": {
            "edge_1": { "source": "start_node", "target": "node_sales", "forward_condition": { "type": "unconditional", "label": null } },
            "edge_2": { "source": "node_sales", "target": "node_say", "forward_condition": { "type": "llm", "label": "No",
                "condition": "The user is not interested in an offer" } },
            "edge_3": { "source": "node_sales", "target": "node_tool", "forward_condition": { "type": "llm", "label": "Yes",
                "condition": "The user gave the number of seats" } },
            "edge_4": { "source": "node_tool", "target": "node_end", "forward_condition": { "type": "expression", "expression": {
                "type": "conditional_operator", "condition": { "type": "boolean_literal", "value": true },
                "true_expression": { "type": "neq_operator", "left": { "type": "null_literal" },
                    "right": { "type": "string_literal", "value": "x" } },
                "false_expression": { "type": "boolean_literal", "value": false } } } },
            "edge_5": { "source": "node_say", "target": "node_end", "forward_condition": { "type": "unconditional" } },
        },
    })
}

#[test]
fn a_graph_of_the_official_package_is_read_and_walked() {
    let tool = ToolId::new();
    let config = json!({ "agent": { "prompt": { "prompt": "You sell." } } });
    let agent = json!({ "name": "Sales", "conversationConfig": config, "workflow": workflow(tool) });
    let stored = validate_create(&agent).unwrap();
    let given = stored["workflow"].clone();
    let graph = read(&given);
    let node = graph.node("node_sales").unwrap();
    assert_eq!(
        Value::Object(node.changes.config.clone()),
        json!({ "tts": { "voiceId": "v1" }, "agent": { "greetingMessage": "Hi.", "primaryLanguage": "de",
            "prompt": { "llm": "gpt-4o", "toolIds": ["t"] }, "dynamicVariables": { "my_plan": "basic" } } })
    );
    assert_eq!(
        (node.changes.prompt.as_deref(), &*node.changes.knowledge_base),
        (Some("Sell."), &["d1".to_owned()][..])
    );
    let known = Known {
        references: graph.references(),
        ..Known::default()
    };
    assert_eq!(findings(&graph, &known), Vec::new());

    let mut call = Call::new(&given);
    let adopted = Step::Adopt {
        node: "node_sales".into(),
        reply: true,
    };
    assert_eq!(call.take(&Input::Begin).1, adopted);
    let Step::Judge { candidates, .. } = call.take(&Input::Heard { said: "Ten seats." }).1 else {
        panic!()
    };
    assert_eq!(
        candidates[0].edge.as_deref(),
        Some("edge_3"),
        "in the order of `edge_order`"
    );
    let values = Vec::new();
    let run = Step::RunTools {
        node: "node_tool".into(),
        tools: vec![tool],
    };
    assert_eq!(
        call.take(&Input::Judged {
            choice: Choice::Candidate(0),
            values
        })
        .1,
        run
    );
    let end = Step::End {
        node: "node_end".into(),
        outcome: Some(Outcome::Success),
    };
    assert_eq!(call.take(&Input::ToolsDone { successful: true }).1, end);

    let mut call = Call::new(&given);
    call.take(&Input::Begin);
    let (path, step) = call.hear("No, I am not interested in any offer.");
    assert!(
        path == ["edge_2>node_say"] && matches!(step, Step::Say { .. }),
        "{path:?} {step:?}"
    );
    assert_eq!(
        call.take(&Input::Spoken),
        (vec![], Step::Wait),
        "the node waits for an answer"
    );
    assert_eq!(call.hear("Goodbye.").1, end);
}
