//! The record of a call's tools: arguments and answers without secrets, within bounds.

use serde_json::{Value, json};

use super::State;
use domain::{secrets::masked, text::cut};

/// Name of the event for a built-in tool, which answers at once.
pub(super) const BUILT_IN_TOOL: &str = "built_in_tool";

/// Most bytes kept of the arguments, and of the answer, of one run.
const MOST_BYTES: usize = 4 * 1024;

/// Bytes that a call may keep in its first minute, and in each further one.
const MINUTE_BYTES: u64 = 6 * 1024;

impl State {
    /// Records an event of a tool. Values that are too long are cut to the beginning of their JSON text.
    pub(super) fn record_tool(&mut self, name: &str, detail: Value, kept: &[(&str, &Value)]) {
        let at_ms = self.elapsed_ms(self.now_ms);
        let mut detail = detail;
        for (field, value) in kept {
            let value = masked(value);
            let text = value.to_string();
            let minutes = 1 + u64::try_from(at_ms).unwrap_or(0) / 60_000;
            let left = (minutes * MINUTE_BYTES).saturating_sub(self.tool_bytes);
            let most = usize::try_from(left).unwrap_or(MOST_BYTES).min(MOST_BYTES);
            let short = cut(&text, most);
            self.tool_bytes += short.len() as u64;
            let whole = short.len() == text.len();
            detail[*field] = if whole { value } else { short.into() };
            if !whole {
                detail["cut"] = true.into();
            }
        }
        self.record_at(name, at_ms, &detail);
    }

    /// Records a built-in tool, or an outside one that was refused, and adds it to the history.
    pub(super) fn tool_done(&mut self, (name, arguments, echo): (&str, Value, Option<Box<Value>>), result: Value) {
        let kept = [("arguments", &arguments), ("result", &result)];
        self.record_tool(BUILT_IN_TOOL, json!({ "name": name }), &kept);
        self.history.tool(name, arguments, result, echo);
    }
}
