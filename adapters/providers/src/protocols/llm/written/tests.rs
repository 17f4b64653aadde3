//! Tests of the reader with the text of each family, whole and cut at every character.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tools() -> Vec<Tool> {
    let day = json!({ "type": "object", "properties": {
        "entity": { "type": "string" }, "value": { "type": "string" }, "guests": { "type": "integer" } } });
    ["collect", "endCall"]
        .map(|name| Tool {
            name: name.into(),
            description: String::new(),
            parameters: day.clone(),
        })
        .into()
}

/// Returns the speech and the calls of a text in pieces.
fn read<'a>(format: Format, pieces: impl IntoIterator<Item = &'a str>) -> (String, Calls) {
    let mut written = Written::new(format, &tools());
    let mut parts = Vec::new();
    for piece in pieces {
        parts.extend(written.push(Some(piece)).unwrap());
    }
    written.without_thoughts();
    parts.extend(written.push(None).unwrap());
    let speech: String = parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Speech(text) => Some(text),
            _ => None,
        })
        .collect();
    let is_silent = speech.trim().is_empty();
    (speech, written.take_calls(is_silent))
}

/// Checks a text in one piece, cut into two at every character, and character by character.
fn check(format: Format, text: &str, speech: &str, calls: &[(&str, Value)]) {
    let calls: Calls = calls
        .iter()
        .map(|(name, arguments)| ((*name).to_owned(), arguments.clone()))
        .collect();
    let wanted = (speech.to_owned(), calls);
    assert_eq!(read(format, [text]), wanted, "{text}");
    for (at, _) in text.char_indices() {
        let (one, two) = text.split_at(at);
        assert_eq!(read(format, [one, two]), wanted, "{one} | {two}");
    }
    let each: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(
        read(format, each.iter().map(String::as_str)),
        wanted,
        "{text}, one by one"
    );
}

fn friday() -> Value {
    json!({ "entity": "day", "value": "Friday" })
}

#[test]
fn thoughts_are_not_spoken() {
    for (text, speech) in [
        ("<think>hm</think>Hello", "Hello"),
        ("<think>hm</think>\n\nHello", "Hello"),
        ("Hello <think>a</think>there<think>b</think>!", "Hello there!"),
        ("1 < 2 <b> <thin", "1 < 2 <b> <thin"),
        ("<think>for ever", ""),
        ("<think>a</thing>b</think>c", "c"),
    ] {
        check(Format::Plain, text, speech, &[]);
        check(Format::Marked, text, speech, &[]);
    }
    check(Format::Plain, "a</think>b", "a</think>b", &[]);
    for text in [
        "<thinking>hm</thinking>",
        "◁think▷hm◁/think▷",
        "[THINK]hm[/THINK]",
        "<|channel>thought\nhm\n<channel|>",
    ] {
        check(Format::Marked, &format!("{text}\nHello"), "Hello", &[]);
    }
}

#[test]
fn thoughts_whose_beginning_the_server_writes_are_not_spoken() {
    for (text, speech) in [
        ("Okay, they ask.\n</think>\n\nHello", "Hello"),
        ("<think>Okay.</think>Hello", "Hello"),
        ("Hello there.", "Hello there."),
        ("", ""),
    ] {
        check(Format::Thinking, text, speech, &[]);
    }
    let mut long = Written::new(Format::Thinking, &tools());
    for _ in 0..MOST_TEXT {
        assert_eq!(long.push(Some("hm ")).unwrap(), [Part::Thought]);
    }
    assert!(long.held.len() < 10);
    assert_eq!(long.push(Some("</think>Hi")).unwrap()[1..], [Part::Speech("Hi".into())]);
    let mut cut = Written::new(Format::Thinking, &tools());
    cut.push(Some("Okay, they")).unwrap();
    assert_eq!(cut.push(None).unwrap(), [Part::Thought], "a thought that the limit cut");
}

#[test]
fn calls_of_every_family_are_read_and_not_spoken() {
    for text in [
        // Hermes, Qwen
        "<tool_call>\n{\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}\n</tool_call>",
        // Qwen3 Coder
        "<tool_call>\n<function=collect>\n<parameter=entity>\nday\n</parameter>\n<parameter=value>\nFriday\n</parameter>\n</function>\n</tool_call>",
        "<function=collect>\n<parameter=entity>day</parameter><parameter=value>Friday</parameter>\n</function>",
        // GLM
        "<tool_call>collect\n<arg_key>entity</arg_key>\n<arg_value>day</arg_value>\n<arg_key>value</arg_key>\n<arg_value>Friday</arg_value>\n</tool_call>",
        // Mistral
        "[TOOL_CALLS]collect[ARGS]{\"entity\": \"day\", \"value\": \"Friday\"}",
        "[TOOL_CALLS]collect{\"entity\": \"day\", \"value\": \"Friday\"}</s>",
        "[TOOL_CALLS][{\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}]",
        "collect{\"entity\": \"day\", \"value\": \"Friday\"}",
        // Llama
        "{\"name\": \"collect\", \"parameters\": {\"entity\": \"day\", \"value\": \"Friday\"}}",
        "<|python_tag|>{\"type\": \"function\", \"name\": \"collect\", \"parameters\": {\"entity\": \"day\", \"value\": \"Friday\"}}<|eom_id|>",
        "<function=collect>{\"entity\": \"day\", \"value\": \"Friday\"}</function>",
        "[collect(entity=\"day\", value='Friday')]",
        // Gemma
        "```tool_code\nprint(default_api.collect(entity=\"day\", value=\"Friday\"))\n```",
        "```json\n{\"name\": \"collect\", \"parameters\": {\"entity\": \"day\", \"value\": \"Friday\"}}\n```",
        "<|tool_call>call:collect{entity:<|\"|>day<|\"|>,value:<|\"|>Friday<|\"|>}<tool_call|>",
        "<start_function_call>call:collect{entity:<escape>day<escape>,value:<escape>Friday<escape>}<end_function_call>",
        // DeepSeek
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>collect\n```json\n{\"entity\": \"day\", \"value\": \"Friday\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>collect<｜tool▁sep｜>{\"entity\": \"day\", \"value\": \"Friday\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"collect\">\n<｜DSML｜parameter name=\"entity\" string=\"true\">day</｜DSML｜parameter>\n<｜DSML｜parameter name=\"value\" string=\"true\">Friday</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        // Kimi, Granite, Command, MiniMax, Nemotron
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.collect:0<|tool_call_argument_begin|>{\"entity\": \"day\", \"value\": \"Friday\"}<|tool_call_end|><|tool_calls_section_end|>",
        "<|tool_call|>[{\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}]",
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"collect\", \"parameters\": {\"entity\": \"day\", \"value\": \"Friday\"}}]<|END_ACTION|>",
        "<minimax:tool_call>\n<invoke name=\"collect\">\n<parameter name=\"entity\">day</parameter>\n<parameter name=\"value\">Friday</parameter>\n</invoke>\n</minimax:tool_call>",
        "<TOOLCALL>[{\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}]</TOOLCALL>",
        "collect({\"entity\": \"day\", \"value\": \"Friday\"})",
        "functions.collect(entity=\"day\", value=\"Friday\")",
        "{'name': 'collect', 'arguments': {'entity': 'day', 'value': 'Friday'}}",
        "{\"collect\": {\"entity\": \"day\", \"value\": \"Friday\"}}",
        "{\"action\": \"collect\", \"action_input\": {\"entity\": \"day\", \"value\": \"Friday\"}}",
        "{\"tool\": \"collect\", \"input\": {\"entity\": \"day\", \"value\": \"Friday\"}}",
        "{\"tool_name\": \"collect\", \"tool_input\": {\"entity\": \"day\", \"value\": \"Friday\"}}",
        "Action: collect\nAction Input: {\"entity\": \"day\", \"value\": \"Friday\"}",
        // Others
        "```\n{\"function\": {\"name\": \"collect\", \"arguments\": \"{\\\"entity\\\":\\\"day\\\",\\\"value\\\":\\\"Friday\\\"}\"}}\n```",
        "{\"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}}]}",
        // gpt-oss
        "<|channel|>commentary to=functions.collect <|constrain|>json<|message|>{\"entity\": \"day\", \"value\": \"Friday\"}<|call|>",
        "<|start|>assistant to=functions.collect<|channel|>commentary json<|message|>{\"entity\": \"day\", \"value\": \"Friday\"}<|call|>",
    ] {
        for format in [Format::Marked, Format::Harmony] {
            check(format, text, "", &[("collect", friday())]);
            check(
                format,
                &format!("One moment.\n{text}"),
                "One moment.\n",
                &[("collect", friday())],
            );
        }
    }
}

#[test]
fn turns_that_the_model_makes_up_are_not_spoken() {
    for text in [
        "We open at nine.<|im_end|>\n<|im_start|>user\nAnd Sunday?<|im_end|>\n<|im_start|>assistant\nClosed.",
        "We open at nine.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd Sunday?",
        "<|im_start|>assistant\nWe open at nine.<|im_end|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\nWe open at nine.<|eot_id|>",
        "<start_of_turn>model\nWe open at nine.<end_of_turn>\n<start_of_turn>user\nThanks.",
        "[/INST] We open at nine.</s>[INST] Thanks. [/INST] Bye.",
        "<｜Assistant｜>We open at nine.<｜end▁of▁sentence｜><｜User｜>Thanks.",
        "<|assistant|>\nWe open at nine.<|user|>\nThanks.",
    ] {
        let (speech, calls) = read(Format::Marked, [text]);
        assert_eq!((speech.trim(), calls.len()), ("We open at nine.", 0), "{text}");
    }
    let call =
        "<tool_call>{\"name\": \"collect\", \"arguments\": {\"entity\": \"day\", \"value\": \"Friday\"}}</tool_call>";
    let text = format!("{call}\n<tool_response>{{\"open\": true}}</tool_response>\nWe are open.");
    check(Format::Marked, &text, "", &[("collect", friday())]);
}

#[test]
fn channels_of_gpt_oss_are_told_apart_with_and_without_their_tokens() {
    for text in [
        "<|channel|>analysis<|message|>They ask.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        "analysisThey ask.assistantfinalHello.",
        "finalHello.",
        "<|channel|>final<|message|>Hello.",
        "analysisThey ask.assistantanalysisStill.assistantcommentaryHello.",
    ] {
        check(Format::Harmony, text, "Hello.", &[]);
    }
    check(
        Format::Harmony,
        "finally, an analysis: assistants.",
        "finally, an analysis: assistants.",
        &[],
    );
    let both = "analysisA day.assistantcommentary to=functions.collect json{\"entity\":\"day\",\"value\":\"Friday\"}\
                assistantcommentary to=functions.endCall json{}assistantfinalBye.";
    check(
        Format::Harmony,
        both,
        "Bye.",
        &[("collect", friday()), ("endCall", json!({}))],
    );
}

#[test]
fn several_calls_and_typed_values_are_read() {
    let two = [("collect", json!({ "guests": 3 })), ("endCall", json!({}))];
    for text in [
        "<tool_call>{\"name\":\"collect\",\"arguments\":{\"guests\":3}}</tool_call>\n<tool_call>{\"name\":\"endCall\",\"arguments\":{}}</tool_call>",
        "<tool_call><function=collect><parameter=guests>3</parameter></function></tool_call><tool_call><function=endCall></function></tool_call>",
        "[TOOL_CALLS]collect[ARGS]{\"guests\":3}[TOOL_CALLS]endCall[ARGS]{}",
        "{\"name\":\"collect\",\"parameters\":{\"guests\":3}}; {\"name\":\"endCall\",\"parameters\":{}}",
        "[collect(guests=3), endCall()]",
        "<tool_call>collect<arg_key>guests</arg_key><arg_value>3</arg_value></tool_call><tool_call>endCall</tool_call>",
    ] {
        let (speech, calls) = read(Format::Marked, [text]);
        assert_eq!(
            calls,
            two.clone().map(|(name, arguments)| (name.to_owned(), arguments)),
            "{text}"
        );
        assert!(!speech.contains(char::is_alphanumeric), "{speech}");
    }
    let text =
        "{'name': 'collect', 'arguments': {'value': 'note: True \\'love\\' \"x\"', 'entity': None, 'guests': True}}";
    let read_as = json!({ "value": "note: True 'love' \"x\"", "entity": null, "guests": true });
    check(Format::Marked, text, "", &[("collect", read_as)]);
    let text = "<function=collect><parameter=value>3</parameter></function>";
    check(Format::Marked, text, "", &[("collect", json!({ "value": "3" }))]);
}

#[test]
fn what_is_plainly_a_call_is_not_spoken_and_all_else_is() {
    for text in [
        "<tool_call>{\"name\": \"order\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"collect\", \"argu",
        "<function=order><parameter=x>collect</parameter></function>",
        "<|python_tag|>import os",
        "{\"name\": \"order\", \"parameters\": {\"note\": \"collect\"}}",
        "```tool_code\nprint(1)\n```",
    ] {
        check(Format::Marked, &format!("Hello. {text}"), "Hello. ", &[]);
    }
    for text in [
        "Use <b> and { or }, not [x].",
        "{\"name\": \"Ann\"} is JSON.",
        "Write {name} or {{name}}, and [laughs] too.",
        "Use the <tool_call> tag, or <invoke a method>.",
        "I collect(ed) it. collect",
        "In the final analysis, 5 < 6.",
        "{",
        "[",
        "```\nlet x = 1;\n",
    ] {
        check(Format::Marked, text, text, &[]);
    }
    let alone = read(Format::Marked, ["{\"name\": \"order\", \"arguments\": {}}"]);
    assert_eq!(
        alone,
        (String::new(), vec![("order".to_owned(), json!({}))]),
        "the model is told that there is none"
    );
}

#[test]
fn ordinary_speech_is_given_out_at_once() {
    let mut written = Written::new(Format::Marked, &tools());
    for word in ["Hello", ", ", "the collection", " is {", "x", "} on [", "F", "riday]."] {
        let spoken: String = written
            .push(Some(word))
            .unwrap()
            .into_iter()
            .map(|part| match part {
                Part::Speech(text) => text,
                _ => String::new(),
            })
            .collect();
        assert!(
            spoken.len() + written.held.len() >= word.len() && written.held.len() <= 1,
            "{word}: {spoken} {}",
            written.held
        );
    }
}

#[test]
fn a_call_has_a_bound() {
    let mut written = Written::new(Format::Marked, &tools());
    let pushed = (0..100).try_for_each(|_| written.push(Some(&"<tool_call>{".repeat(100))).map(drop));
    assert!(pushed.is_err());
}

proptest! {
    #[test]
    fn where_the_pieces_are_cut_makes_no_difference(
        text in "(<think>|</think>|<tool_call>|</tool_call>|\\{\"name\": ?\"collect\"|\\}|\\[|\\]|collect\\(|```|analysis|assistantfinal|<\\|channel\\|>|<\\||a|é| |\n|\"){0,14}",
    ) {
        for format in [Format::Plain, Format::Marked, Format::Thinking, Format::Harmony] {
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            prop_assert_eq!(read(format, pieces.iter().map(String::as_str)), read(format, [text.as_str()]));
        }
    }
}
