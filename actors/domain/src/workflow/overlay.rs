//! The agent as it talks within a node of its graph.

use serde_json::Value;

use super::{
    graph::{Graph, Message, Node, NodeKind},
    reading::in_our_spelling,
};
use crate::agent::{Agent, BuiltInTools, ConversationConfig, Workflow, merge};

/// Heading in the instructions above what a node adds to them.
const STEP_HEADING: &str = "# This part of the call";

/// Instruction for a message that the model writes.
const SAY_THIS: &str = "Say the following now, in your own words, and nothing else:";

impl Graph {
    /// Returns the agent with the changes of a node, all in addition to its own. A `say` node only speaks, so it offers
    /// no tools.
    #[must_use]
    pub fn agent_in(&self, node: &str, agent: &Agent) -> Agent {
        let Some(node) = self.node(node) else {
            return agent.clone();
        };
        let mut changed = agent.clone();
        if let Some(config) = changed_config(&agent.conversation_config, node) {
            changed.conversation_config = config;
        }
        let changes = &node.changes;
        let prompt = &mut changed.conversation_config.agent.prompt;
        prompt.knowledge_base.extend(changes.knowledge_base.iter().cloned());
        prompt.tool_ids.extend(changes.tool_ids.iter().cloned());
        let mut added: Vec<String> = changes.prompt.iter().cloned().collect();
        if let NodeKind::Say { message, .. } = &node.kind {
            prompt.built_in_tools = BuiltInTools::default();
            prompt.tool_ids.clear();
            if let Message::Prompt { prompt: text } = message {
                added.push(format!("{SAY_THIS} {text}"));
            }
        }
        if !added.is_empty() {
            let added = added.join("\n");
            prompt.prompt = format!("{}\n\n{STEP_HEADING}\n{added}", prompt.prompt.trim_end());
        }
        changed
    }

    /// Returns whether the edges of this node wait for the caller's answer to its message.
    pub fn awaits_answer(&self, node: &str) -> bool {
        let kind = self.node(node).map(|node| &node.kind);
        matches!(
            kind,
            Some(NodeKind::Say {
                wait_for_user_response: true,
                ..
            })
        )
    }

    /// Returns whether a message of this node is said by the agent with changes of its own.
    pub fn changes_message(&self, node: &str) -> bool {
        self.node(node).is_some_and(|node| {
            let is_written = matches!(
                &node.kind,
                NodeKind::Say {
                    message: Message::Prompt { .. },
                    ..
                }
            );
            is_written || !node.changes.config.is_empty()
        })
    }

    /// Returns whether the agent has further tools or documents in this node.
    pub fn brings_tools(&self, node: &str) -> bool {
        self.node(node)
            .is_some_and(|node| !node.changes.tool_ids.is_empty() || !node.changes.knowledge_base.is_empty())
    }
}

/// Returns the models that nodes of a graph name for the agent, each with the path of its field. The graph need not be
/// usable.
pub fn models_of_nodes(workflow: &Workflow) -> impl Iterator<Item = (String, String)> {
    workflow.nodes.iter().filter_map(|(id, node)| {
        let node = in_our_spelling(node);
        if !matches!(node.get("type")?.as_str()?, "override_agent" | "say") {
            return None;
        }
        let model = node
            .pointer("/conversationConfig/agent/prompt/llm")?
            .as_str()?
            .to_owned();
        let path = format!("workflow.nodes.{id}.conversationConfig.agent.prompt.llm");
        Some((path, model))
    })
}

/// Returns the configuration with a node's part of it. Returns `None` if the node has none, or none that can be read.
fn changed_config(own: &ConversationConfig, node: &Node) -> Option<ConversationConfig> {
    let config = &node.changes.config;
    if config.is_empty() {
        return None;
    }
    let mut merged = serde_json::to_value(own).ok()?;
    merge(&mut merged, &Value::Object(config.clone()));
    let changed = serde_json::from_value(merged);
    changed
        .inspect_err(|error| tracing::warn!(%error, "invalid conversationConfig in a node of a graph"))
        .ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(nodes: &Value) -> (Agent, Graph) {
        let agent: Agent = serde_json::from_value(json!({
            "conversationConfig": {
                "agent": { "prompt": { "prompt": "Be brief.", "toolIds": ["a"], "knowledgeBase": ["d"],
                    "builtInTools": { "endCall": { "enabled": true } } } },
                "tts": { "voiceId": "ava", "speed": 1.2 },
            },
            "workflow": { "nodes": nodes, "edges": {} },
        }))
        .unwrap();
        let graph = Graph::read(&agent.workflow).unwrap();
        (agent, graph)
    }

    #[test]
    fn a_nodes_changes_come_in_addition_to_the_agents_own() {
        let (agent, graph) = agent(&json!({
            "sales": {
                "type": "override_agent", "additionalPrompt": "You sell bikes.",
                "additionalToolIds": ["b"], "additionalKnowledgeBase": ["e"],
                "conversationConfig": { "agent": { "prompt": { "temperature": 1 } }, "tts": { "voiceId": "tom" } },
            },
            "plain": { "type": "override_agent" },
        }));
        let config = graph.agent_in("sales", &agent).conversation_config;
        let prompt = &config.agent.prompt;
        assert_eq!(prompt.prompt, "Be brief.\n\n# This part of the call\nYou sell bikes.");
        assert_eq!(
            (&prompt.tool_ids, &prompt.knowledge_base),
            (&vec!["a".into(), "b".into()], &vec!["d".into(), "e".into()])
        );
        assert_eq!(
            (config.tts.voice_id.as_str(), config.tts.speed, prompt.temperature),
            ("tom", 1.2, 1.0)
        );
        assert!(prompt.built_in_tools.end_call.enabled);
        assert_eq!(graph.agent_in("plain", &agent), agent);
        assert_eq!(graph.agent_in("gone", &agent), agent);
    }

    #[test]
    fn a_node_that_says_something_offers_no_tools() {
        let (agent, graph) = agent(&json!({
            "say": { "type": "say", "message": { "type": "prompt", "prompt": "Read the terms." } },
        }));
        let prompt = graph.agent_in("say", &agent).conversation_config.agent.prompt;
        assert!(
            prompt.prompt.ends_with("and nothing else: Read the terms."),
            "{}",
            prompt.prompt
        );
        assert!(prompt.tool_ids.is_empty() && !prompt.built_in_tools.end_call.enabled);
    }

    #[test]
    fn changes_that_cannot_be_read_are_left_out() {
        let (agent, graph) = agent(&json!({
            "odd": { "type": "override_agent", "additionalPrompt": "Go on.",
                "conversationConfig": { "tts": { "voiceId": ["tom"] } } },
        }));
        let config = graph.agent_in("odd", &agent).conversation_config;
        assert_eq!(config.tts, agent.conversation_config.tts);
        assert!(config.agent.prompt.prompt.ends_with("Go on."));
    }
}
