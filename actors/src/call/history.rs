//! History of a call as the model sees it, and the numbered turns that are stored.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use domain::{
    ports::{
        language_model::{HistoryItem, Speaker},
        store::TurnFact,
    },
    text::plain,
};

/// Limit in bytes for the tool calls shown to the model: some hundreds of usual ones. The oldest are dropped first.
const MOST_TOOL_BYTES: usize = 128 * 1024;

/// Turn numbers left free after those of the previous owner. A process that stalled may still write its last turns.
const LEFT_FREE: i64 = 16;

/// Limit in bytes for all values collected in one call.
const MOST_COLLECTED_BYTES: usize = 64 * 1024;

/// Time span of a turn, in milliseconds from the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start of the turn.
    pub started_ms: i64,
    /// End of the turn.
    pub ended_ms: i64,
}

/// History, collected values and turn count.
#[derive(Debug, Clone, Default)]
pub struct History {
    items: Vec<HistoryItem>,
    tool_bytes: usize,
    /// Tool runs without a result, with the index of their item.
    running: Vec<(u64, usize)>,
    collected: BTreeMap<String, String>,
    turns: i64,
}

pub(super) fn tidy(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the approximate size of a tool call in bytes, and 0 for other items.
fn tool_bytes(item: &HistoryItem) -> usize {
    match item {
        HistoryItem::Tool {
            name,
            arguments,
            result,
            echo,
        } => {
            let echo = echo.as_ref().map_or(0, |echo| echo.to_string().len());
            name.len() + arguments.to_string().len() + result.to_string().len() + echo
        }
        HistoryItem::Said { .. } | HistoryItem::Silence => 0,
    }
}

fn add_user(items: &mut Vec<HistoryItem>, words: String, damaged: bool) {
    match items.last_mut() {
        Some(HistoryItem::Said {
            speaker: Speaker::User,
            text,
            damaged: was_damaged,
            ..
        }) => {
            if !text.is_empty() && !words.is_empty() {
                text.push(' ');
            }
            text.push_str(&words);
            *was_damaged |= damaged;
        }
        _ => items.push(HistoryItem::Said {
            speaker: Speaker::User,
            text: words,
            interrupted: false,
            damaged,
        }),
    }
}

/// A tool call of the model while another process held the call. Its result was lost with that process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerRun {
    /// Time in milliseconds into the call.
    pub at_ms: i64,
    /// Name of the tool.
    pub name: String,
    /// Text the model gets instead of the result.
    pub told: Value,
}

impl History {
    /// Rebuilds the history of a call that another process held from its turns, its collected values and its
    /// tool runs (`run`), all in order.
    pub fn of(said: &[TurnFact], run: &[FormerRun], collected: BTreeMap<String, String>) -> Self {
        let mut history = Self {
            collected,
            turns: said.last().map_or(0, |last| last.seq + 1 + LEFT_FREE),
            ..Self::default()
        };
        let mut run = run.iter().peekable();
        for turn in said {
            while let Some(former) = run.next_if(|former| former.at_ms < turn.started_ms) {
                history.ran(former);
            }
            let text = turn.text.clone();
            match turn.speaker {
                Speaker::User => add_user(&mut history.items, text, turn.damaged),
                speaker @ (Speaker::Agent | Speaker::Operator) => history.items.push(HistoryItem::Said {
                    speaker,
                    text,
                    interrupted: turn.interrupted,
                    damaged: false,
                }),
            }
        }
        run.for_each(|former| history.ran(former));
        history
    }

    fn ran(&mut self, former: &FormerRun) {
        self.tool(&former.name, Value::Object(Map::new()), former.told.clone(), None);
    }

    /// Returns the last words said, ignoring tool calls and other items.
    pub fn last_said(&self) -> Option<&HistoryItem> {
        let mut items = self.items.iter();
        items.rfind(|item| matches!(item, HistoryItem::Said { .. }))
    }

    /// Returns the items, oldest first.
    pub fn items(&self) -> &[HistoryItem] {
        &self.items
    }

    /// Returns the collected values by entity.
    pub fn collected(&self) -> &BTreeMap<String, String> {
        &self.collected
    }

    /// Returns the number of turns kept.
    pub fn turns(&self) -> usize {
        usize::try_from(self.turns).unwrap_or(0)
    }

    /// Adds what was heard of the agent's speech. Returns `None` if nothing was heard.
    pub fn agent_said(&mut self, heard: &str, span: Span, interrupted: bool) -> Option<TurnFact> {
        let text = tidy(heard);
        if text.is_empty() {
            return None;
        }
        self.items.push(HistoryItem::Said {
            speaker: Speaker::Agent,
            text: text.clone(),
            interrupted,
            damaged: false,
        });
        Some(self.turn(Speaker::Agent, text, span, (interrupted, false)))
    }

    /// Adds the user's words. Words that follow other words of the user extend the same item for the model,
    /// but are a turn of their own.
    pub fn user_said(&mut self, words: &str, span: Span, damaged: bool) -> TurnFact {
        let words = tidy(words);
        add_user(&mut self.items, words.clone(), damaged);
        self.turn(Speaker::User, words, span, (false, damaged))
    }

    /// Adds an operator's words.
    pub fn operator_said(&mut self, words: &str, span: Span, damaged: bool) -> TurnFact {
        let text = tidy(words);
        self.items.push(HistoryItem::Said {
            speaker: Speaker::Operator,
            text: text.clone(),
            interrupted: false,
            damaged,
        });
        self.turn(Speaker::Operator, text, span, (false, damaged))
    }

    /// Returns the items as they would be if the user's turn ended with these words. Changes nothing.
    pub fn with_words(&self, words: &str) -> Vec<HistoryItem> {
        let mut items = self.items.clone();
        add_user(&mut items, tidy(words), false);
        items
    }

    /// Notes that the user was silent and the agent should speak.
    pub fn silence(&mut self) {
        self.items.push(HistoryItem::Silence);
    }

    /// Adds a tool call of the model.
    pub fn tool(&mut self, name: &str, arguments: Value, result: Value, echo: Option<Box<Value>>) {
        let item = HistoryItem::Tool {
            name: name.to_owned(),
            arguments,
            result,
            echo,
        };
        self.tool_bytes += tool_bytes(&item);
        self.items.push(item);
        self.forget_oldest_tools();
    }

    /// Adds a call of a slow tool. `until_then` is its result until the real one arrives.
    pub fn tool_begun(&mut self, run: u64, called: (&str, Value), until_then: Value, echo: Option<Box<Value>>) {
        self.running.push((run, self.items.len()));
        self.tool(called.0, called.1, until_then, echo);
    }

    /// Sets the result of a run.
    pub fn tool_settled(&mut self, run: u64, settled: Value) {
        let Some(known) = self.running.iter().position(|(number, _)| *number == run) else {
            return;
        };
        let (_, place) = self.running.swap_remove(known);
        let Some(item) = self.items.get_mut(place) else { return };
        let before = tool_bytes(item);
        if let HistoryItem::Tool { result, .. } = item {
            *result = settled;
        }
        self.tool_bytes = self.tool_bytes + tool_bytes(item) - before;
        self.forget_oldest_tools();
    }

    fn forget_oldest_tools(&mut self) {
        while self.tool_bytes > MOST_TOOL_BYTES {
            let oldest = self
                .items
                .iter()
                .position(|item| matches!(item, HistoryItem::Tool { .. }));
            let Some(oldest) = oldest else { return };
            self.tool_bytes -= tool_bytes(&self.items.remove(oldest));
            self.running.retain(|(_, place)| *place != oldest);
            for (_, place) in self.running.iter_mut().filter(|(_, place)| *place > oldest) {
                *place -= 1;
            }
        }
    }

    /// Keeps a collected value; the last one wins.
    ///
    /// # Errors
    ///
    /// Returns the reason, worded for the model, if the arguments are not `{ "entity", "value" }` or too much
    /// is collected.
    pub fn collect(&mut self, arguments: &Value) -> Result<(), &'static str> {
        let entity = arguments.get("entity").and_then(Value::as_str);
        let value = match arguments.get("value") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other @ (Value::Number(_) | Value::Bool(_))) => Some(other.to_string()),
            _ => None,
        };
        let (Some(entity), Some(value)) = (entity, value) else {
            return Err("give `entity` and `value`, both text");
        };
        let (entity, value) = (tidy(entity), tidy(&value));
        let others = self.collected.iter().filter(|(name, _)| **name != entity);
        let others: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        if others + entity.len() + value.len() > MOST_COLLECTED_BYTES {
            return Err("no more can be collected in this call");
        }
        self.collected.insert(entity, value);
        Ok(())
    }

    fn turn(&mut self, speaker: Speaker, text: String, span: Span, flags: (bool, bool)) -> TurnFact {
        let seq = self.turns;
        self.turns += 1;
        TurnFact {
            seq,
            speaker,
            text,
            started_ms: span.started_ms,
            ended_ms: span.ended_ms,
            interrupted: flags.0,
            damaged: flags.1,
            detail: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPAN: Span = Span {
        started_ms: 1,
        ended_ms: 2,
    };

    #[test]
    fn words_of_the_user_in_a_row_are_one_item_and_two_turns() {
        let mut history = History::default();
        assert_eq!(history.user_said("my number", SPAN, false).seq, 0);
        assert_eq!(history.user_said(" is five ", SPAN, true).seq, 1);
        assert_eq!(
            history.items(),
            [HistoryItem::Said {
                speaker: Speaker::User,
                text: "my number is five".into(),
                interrupted: false,
                damaged: true
            }]
        );
    }

    #[test]
    fn what_was_said_before_is_gone_on_with_behind_it() {
        let mut before = History::default();
        let turns = [
            before.agent_said("Hello, who is there?", SPAN, true).unwrap(),
            before.user_said("my number", SPAN, false),
            before.user_said("is five", SPAN, true),
        ];
        let collected = BTreeMap::from([("name".to_owned(), "Ada".to_owned())]);
        let mut after = History::of(&turns, &[], collected.clone());
        assert_eq!((after.items(), after.collected()), (before.items(), &collected));
        let next = after.user_said("and six", SPAN, false).seq;
        assert!(
            next > 10,
            "late turns of another process find their places free: {next}"
        );
        assert_eq!(after.items().len(), 2, "one item with the words before it");
        assert_eq!(History::of(&[], &[], collected).user_said("Hello?", SPAN, false).seq, 0);
    }

    #[test]
    fn what_was_run_before_stands_where_it_was_run() {
        let turn = |seq: i64, speaker| TurnFact {
            seq,
            speaker,
            text: format!("turn {seq}"),
            started_ms: seq * 1_000,
            ended_ms: seq * 1_000 + 500,
            interrupted: false,
            damaged: false,
            detail: Default::default(),
        };
        let run = |at_ms| FormerRun {
            at_ms,
            name: format!("at {at_ms}"),
            told: json!("done"),
        };
        let said = [turn(0, Speaker::User), turn(1, Speaker::Agent), turn(2, Speaker::User)];
        let history = History::of(&said, &[run(700), run(2_900)], BTreeMap::new());
        let told: Vec<_> = history
            .items()
            .iter()
            .map(|item| match item {
                HistoryItem::Said { text, .. } => text.as_str(),
                HistoryItem::Tool { name, .. } => name.as_str(),
                HistoryItem::Silence => "",
            })
            .collect();
        assert_eq!(told, ["turn 0", "at 700", "turn 1", "turn 2", "at 2900"]);
        assert_eq!(history.last_said(), history.items().get(3));
    }

    #[test]
    fn signs_that_are_no_words_are_not_kept() {
        let odd = "f\0ive\u{1b} \u{202e}six\nseven\u{2069}";
        let mut history = History::default();
        assert_eq!(history.user_said(odd, SPAN, false).text, "five six seven");
        assert_eq!(history.agent_said(odd, SPAN, false).unwrap().text, "five six seven");
        history.collect(&json!({ "entity": "a\0ge", "value": odd })).unwrap();
        assert_eq!(
            history.collected().get("age").map(String::as_str),
            Some("five six seven")
        );
    }

    #[test]
    fn what_tools_hold_is_bounded() {
        let mut history = History::default();
        history.user_said("Hello?", SPAN, false);
        for n in 0..100 {
            let arguments = json!({ "n": n, "long": "x".repeat(30_000) });
            history.tool("collect", arguments, json!({ "ok": true }), None);
        }
        let tools: Vec<_> = history
            .items()
            .iter()
            .filter_map(|item| match item {
                HistoryItem::Tool { arguments, .. } => arguments["n"].as_i64(),
                _ => None,
            })
            .collect();
        assert_eq!(tools, [96, 97, 98, 99], "the newest");
        assert_eq!(history.items().len(), 5, "no words are forgotten");
        history.tool("collect", json!({ "long": "x".repeat(300_000) }), json!({}), None);
        assert_eq!(history.items().len(), 1, "one that is longer than all is not kept");
    }

    #[test]
    fn a_result_finds_its_call_also_where_older_ones_were_forgotten() {
        let mut history = History::default();
        let long = || json!({ "long": "x".repeat(60_000) });
        history.tool_begun(1, ("first", long()), json!({}), None);
        history.tool_begun(2, ("second", long()), json!("not yet"), None);
        history.user_said("Hello?", SPAN, false);
        history.tool_begun(3, ("third", long()), json!("not yet"), None);
        history.tool_settled(1, json!("lost"));
        history.tool_settled(3, json!("three"));
        history.tool_settled(2, json!("two"));
        history.tool_settled(2, json!("again"));
        let told: Vec<_> = history
            .items()
            .iter()
            .filter_map(|item| match item {
                HistoryItem::Tool { name, result, .. } => Some((name.as_str(), result.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(told, [("second", Some("two")), ("third", Some("three"))]);
    }

    #[test]
    fn what_is_collected_is_bounded() {
        let mut history = History::default();
        let kept = (0..100).filter(|n| {
            let arguments = json!({ "entity": format!("entity {n}"), "value": "x".repeat(8_000) });
            history.collect(&arguments).is_ok()
        });
        assert_eq!(kept.count(), 8);
        let again = json!({ "entity": "entity 1", "value": "short" });
        assert!(history.collect(&again).is_ok(), "what is there may become less");
    }

    #[test]
    fn what_nobody_heard_was_not_said() {
        let mut history = History::default();
        assert_eq!(history.agent_said("  ", SPAN, true), None);
        assert_eq!(history.turns(), 0);
    }

    #[test]
    fn the_last_collected_value_wins_and_odd_arguments_are_refused() {
        let mut history = History::default();
        assert!(history.collect(&json!({ "entity": "age", "value": 4 })).is_ok());
        assert!(history.collect(&json!({ "entity": "age", "value": "5" })).is_ok());
        assert!(history.collect(&json!({ "entity": 1, "value": "x" })).is_err());
        assert!(history.collect(&json!({ "entity": "name", "value": null })).is_err());
        assert_eq!(history.collected().get("age").map(String::as_str), Some("5"));
        assert_eq!(history.collected().len(), 1);
    }
}
