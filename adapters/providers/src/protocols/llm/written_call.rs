//! Reader of tool calls that a model wrote as text, in the notations of all families.

use std::borrow::Cow;

use domain::prompt::Tool;
use serde_json::{Map, Value};

use crate::protocols::llm::halves;

/// Keys that a call in JSON may begin with.
const KEYS: [&str; 10] = [
    "action",
    "name",
    "function",
    "tool",
    "tool_name",
    "tool_calls",
    "type",
    "arguments",
    "parameters",
    "id",
];

/// Words that notations put before a tool's name, beside those that begin with `tool`.
const BEFORE: &str = "action function functions invoke name to call calls print default_api json code commentary assistant begin \
                      end sep start type constrain message python http";

/// Name and arguments of calls.
pub(crate) type Calls = Vec<(String, Value)>;

/// Returns whether a text may still become a call in JSON (`Some(false)`), or looks like one already.
pub(crate) fn is_json(text: &str, tools: &[Tool]) -> Option<bool> {
    // Python's notation has other quotation marks.
    let begin: String = text
        .replace('\'', "\"")
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(80)
        .collect();
    let begin = begin.strip_prefix('[').unwrap_or(&begin);
    let names = tools.iter().map(|tool| tool.name.as_str());
    let states = KEYS.into_iter().chain(names).filter_map(|key| {
        let wanted = format!("{{\"{key}\"");
        let is_whole = begin.starts_with(&wanted);
        (is_whole || wanted.starts_with(begin)).then_some(is_whole)
    });
    states.max()
}

/// Returns where the first bracket of a text is closed.
pub(crate) fn closed(text: &str) -> Option<usize> {
    let mut outside = outside(text).into_iter();
    let close = outside.find(|(_, c, depth)| *depth == 0 && matches!(c, ')' | ']' | '}'));
    close.map(|(at, ..)| at + 1)
}

/// Returns the characters outside quotation marks, with the number of brackets open after each.
fn outside(text: &str) -> Vec<(usize, char, usize)> {
    let (mut depth, mut quote, mut escaped, mut before) = (0_usize, None, false, ' ');
    let chars = text.char_indices().filter_map(|(at, c)| {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(mark) if c == mark => quote = None,
            Some(_) => escaped = c == '\\',
            None if c == '"' || (c == '\'' && "([{=:,".contains(before)) => quote = Some(c),
            None => {
                depth = match c {
                    '(' | '[' | '{' => depth + 1,
                    ')' | ']' | '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                before = if c.is_whitespace() { before } else { c };
                return Some((at, c, depth));
            }
        }
        None
    });
    chars.collect()
}

/// Returns the calls of a text, those of unknown tools too if they are in JSON. Returns `None` if there are none.
pub(crate) fn read(text: &str, tools: &[Tool]) -> Option<Calls> {
    // Marks that stand for quotation marks, and DeepSeek's before each tag.
    let quoted = text.replace("<|\"|>", "<escape>");
    let text = match quoted.contains("<escape>") {
        true => quoted.replace('"', "\\\"").replace("<escape>", "\""),
        false => halves::mended(&quoted.replace("｜DSML｜", "")),
    };
    let mut rest = text.trim();
    if rest.starts_with(['{', '[']) && closed(rest).is_none() {
        return None;
    }
    let mut calls = Calls::new();
    if rest.starts_with(['{', '[']) {
        let json = in_json(rest);
        let values = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
        values
            .map_while(Result::ok)
            .for_each(|value| add(&value, tools, &mut calls));
    }
    if !calls.is_empty() {
        return Some(calls);
    }
    while let Some((tool, after)) = named(rest, tools) {
        let (arguments, used) = arguments(after, tool)?;
        calls.push((tool.name.clone(), arguments.into()));
        rest = &after[used..];
    }
    (!calls.is_empty()).then_some(calls)
}

/// Returns a text in JSON, also if it is in Python's notation, whose quotation marks are single ones.
fn in_json(text: &str) -> Cow<'_, str> {
    if text.chars().find(|c| matches!(c, '"' | '\'')) != Some('\'') {
        return text.into();
    }
    // `outside` is where the text outside quotation marks begins.
    let (mut json, mut outside) = (String::with_capacity(text.len()), 0);
    let (mut quote, mut escaped) = (None, false);
    for c in text.chars() {
        match quote {
            Some('\'') if escaped && c == '\'' => {
                json.pop();
                json.push(c);
            }
            Some(mark) if c == mark && !escaped => {
                json.push('"');
                (quote, outside) = (None, json.len());
            }
            Some('\'') if c == '"' => json.push_str("\\\""),
            None if matches!(c, '"' | '\'') => {
                words_in_json(&mut json, outside);
                json.push('"');
                quote = Some(c);
            }
            _ => json.push(c),
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    if quote.is_none() {
        words_in_json(&mut json, outside);
    }
    json.into()
}

/// Replaces Python's words in a text from a place on.
fn words_in_json(text: &mut String, from: usize) {
    let outside = text.split_off(from);
    let words = outside.split_inclusive(|c: char| !c.is_alphanumeric());
    for word in words {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        text.push_str(word_in_json(name));
        text.push_str(&word[name.len()..]);
    }
}

/// Returns the JSON of a word of Python.
fn word_in_json(word: &str) -> &str {
    match word {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    }
}

/// Adds the calls of a JSON value.
fn add(value: &Value, tools: &[Tool], calls: &mut Calls) {
    let field = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| value.get(name))
            .filter(|value| !value.is_null())
    };
    if let Some(list) = value.as_array().or_else(|| value.get("tool_calls")?.as_array()) {
        return list.iter().for_each(|value| add(value, tools, calls));
    }
    if let Some(function) = value.get("function").filter(|function| function.is_object()) {
        return add(function, tools, calls);
    }
    let is_tool = |name: &str| tools.iter().any(|tool| tool.name == name);
    let Some(name) = field(&["name", "function", "tool", "tool_name", "action"]).and_then(Value::as_str) else {
        // The name as the only key.
        let members = value.as_object().into_iter().flatten();
        return calls.extend(
            members
                .filter(|(name, arguments)| is_tool(name) && arguments.is_object())
                .map(|(name, arguments)| (name.clone(), arguments.clone())),
        );
    };
    let name = name.trim_start_matches("functions.");
    let known = field(&["arguments", "parameters", "args", "input", "tool_input", "action_input"]);
    let other = || value.as_object()?.values().find(|value| value.is_object());
    let arguments = match known.or_else(other) {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(arguments) => Some(arguments.clone()),
        None => is_tool(name).then(|| Map::new().into()),
    };
    calls.extend(
        arguments
            .filter(Value::is_object)
            .map(|arguments| (name.to_owned(), arguments)),
    );
}

/// Returns the tool that a text names first, if only words of notations come before, and the text after its name.
fn named<'t>(text: &'t str, tools: &'t [Tool]) -> Option<(&'t Tool, &'t str)> {
    let is_between = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
    let is_before = |word: &str| {
        let word = word.to_lowercase();
        let is_known = word.is_empty() || word.starts_with("tool") || word.parse::<u32>().is_ok();
        is_known || BEFORE.split_whitespace().any(|other| other == word)
    };
    let mut at = 0;
    for piece in text.split_inclusive(is_between) {
        let word = piece.trim_end_matches(is_between);
        if let Some(tool) = tools.iter().find(|tool| tool.name == word) {
            return Some((tool, &text[at + word.len()..]));
        }
        if !is_before(word) {
            return None;
        }
        at += piece.len();
    }
    None
}

/// Reads the arguments after a tool's name, and returns how much of the text they are.
fn arguments(text: &str, tool: &Tool) -> Option<(Map<String, Value>, usize)> {
    let ends = ["</function>", "</invoke>", "</tool_call>"].into_iter();
    let end = ends.filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let tag = ["<parameter", "<arg_key>"]
        .into_iter()
        .filter_map(|tag| text[..end].find(tag))
        .min();
    match (text[..end].find(['(', '{']), tag) {
        (open, Some(tag)) if open.is_none_or(|open| tag < open) => Some((tagged(&text[..end], tool)?, end)),
        (Some(open), _) => {
            let whole = &text[open..open + closed(&text[open..])?];
            let inner = whole[1..whole.len() - 1].trim();
            let arguments = serde_json::from_str(whole)
                .or_else(|_| serde_json::from_str(&in_json(inner)))
                .ok()
                .or_else(|| listed(inner))?;
            Some((arguments, open + whole.len()))
        }
        (None, _) => Some((Map::new(), end)),
    }
}

/// Reads parameters in tags: `<parameter=a>1</parameter>`, `<arg_key>a</arg_key><arg_value>1</arg_value>`.
fn tagged(text: &str, tool: &Tool) -> Option<Map<String, Value>> {
    let text = text.replace("<arg_key>", "<parameter=").replace("</arg_key>", ">");
    let text = text.replace("<arg_value>", "").replace("</arg_value>", "</parameter>");
    let parameters = text.split("<parameter").skip(1).map(|part| {
        let (head, rest) = part.split_once('>')?;
        let key = head.split('"').nth(1).unwrap_or(head).trim_matches(['=', ' ']);
        let value = rest.split_once("</parameter")?.0.trim();
        let kind = tool.parameters.pointer(&format!("/properties/{key}/type"));
        let is_text = kind.is_none_or(|kind| kind.to_string().contains("string"));
        let read = serde_json::from_str(value).ok().filter(|_| !is_text);
        Some((key.to_owned(), read.unwrap_or_else(|| value.into())))
    });
    parameters.collect()
}

/// Reads `a="1", b=2` and `a:1,b:"2"`.
fn listed(text: &str) -> Option<Map<String, Value>> {
    let commas = outside(text)
        .into_iter()
        .filter(|(_, c, depth)| *c == ',' && *depth == 0);
    let (mut listed, mut begin) = (Map::new(), 0);
    for end in commas.map(|(at, ..)| at).chain([text.len()]) {
        let part = text[begin..end].trim();
        begin = end + 1;
        if part.is_empty() {
            continue;
        }
        let (key, value) = part.split_once(['=', ':'])?;
        let key = key.trim().trim_matches(['"', '\'']);
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
        let value = word_in_json(value.trim());
        let read = serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches(['"', '\'']).into());
        listed.insert(is_key.then(|| key.to_owned())?, read);
    }
    Some(listed)
}
