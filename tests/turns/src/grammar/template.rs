//! A sentence of a grammar before anything is drawn.

use std::collections::BTreeMap;

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    Choice(Vec<Vec<Node>>),
    Item(String),
    /// Digits in a row: least and most.
    Digits(u64, u64),
    /// Digits in groups with pauses: least and most digits.
    Groups(u64, u64),
    /// Numbers of two digits with pauses: least and most numbers.
    Pairs(u64, u64),
    Spell(String),
    Pause {
        from_ms: u64,
        to_ms: u64,
        whole: bool,
    },
}

/// A sentence with choices, lists and pauses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    pub(super) nodes: Vec<Node>,
}

impl Template {
    /// Reads a sentence.
    ///
    /// # Errors
    /// Returns the problem in words.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut rest = source;
        let nodes = sequence(&mut rest, 0)?;
        Ok(Self {
            source: source.to_owned(),
            nodes,
        })
    }

    /// Returns the sentence as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the frame: its words and the names of its lists, in lower case, without pauses and punctuation.
    pub fn frame(&self) -> String {
        let mut text = String::new();
        let mut in_pause = false;
        for c in self.source.chars() {
            match c {
                '<' => in_pause = true,
                '>' => in_pause = false,
                _ if in_pause => {}
                '(' | ')' | '|' | '~' => text.push(' '),
                c if crate::sentence::is_punctuation(c) => text.push(' '),
                c => text.extend(c.to_lowercase()),
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }

    /// Checks that the lists exist which the sentence names.
    pub(super) fn check(&self, lists: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
        check(&self.nodes, lists)
    }
}

fn check(nodes: &[Node], lists: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    let known = |name: &str| match lists.contains_key(name) {
        true => Ok(()),
        false => Err(format!("there is no [list {name}]")),
    };
    for node in nodes {
        match node {
            Node::Item(name) | Node::Spell(name) => known(name)?,
            Node::Digits(..) | Node::Groups(..) => known("digit")?,
            Node::Pairs(..) => known("pair")?,
            Node::Choice(choices) => {
                for choice in choices {
                    check(choice, lists)?;
                }
            }
            Node::Text(_) | Node::Pause { .. } => {}
        }
    }
    Ok(())
}

/// Reads up to the end, or up to the `|` or `)` that ends a choice.
fn sequence(rest: &mut &str, depth: usize) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::new();
    loop {
        let next = rest.find(['(', ')', '|', '{', '<']).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(next);
        if !text.is_empty() {
            nodes.push(Node::Text(text.to_owned()));
        }
        *rest = behind;
        match behind.chars().next() {
            None if depth > 0 => return Err("a ( has no )".to_owned()),
            None => return Ok(nodes),
            Some('|' | ')') if depth > 0 => return Ok(nodes),
            Some('(') => nodes.push(choice(rest, depth)?),
            Some('{') => nodes.push(slot(enclosed(rest, '}')?)?),
            Some('<') => nodes.push(pause(enclosed(rest, '>')?)?),
            Some(other) => return Err(format!("{other} stands outside of ( )")),
        }
    }
}

fn choice(rest: &mut &str, depth: usize) -> Result<Node, String> {
    let mut choices = Vec::new();
    loop {
        // Skips the bracket or the bar.
        *rest = &rest[1..];
        choices.push(sequence(rest, depth + 1)?);
        if rest.starts_with(')') {
            *rest = &rest[1..];
            return Ok(Node::Choice(choices));
        }
    }
}

/// Returns the text between the first character and the next `end`.
fn enclosed<'a>(rest: &mut &'a str, end: char) -> Result<&'a str, String> {
    let (inside, behind) = rest[1..]
        .split_once(end)
        .ok_or_else(|| format!("{} has no {end}", &rest[..1]))?;
    *rest = behind;
    Ok(inside)
}

fn slot(inside: &str) -> Result<Node, String> {
    let (name, argument) = inside.split_once(' ').unwrap_or((inside, ""));
    match (name, argument) {
        ("digits", count) => range(count).map(|(from, to)| Node::Digits(from, to)),
        ("groups", count) => range(count).map(|(from, to)| Node::Groups(from, to)),
        ("pairs", count) => range(count).map(|(from, to)| Node::Pairs(from, to)),
        ("spell", list) if !list.is_empty() => Ok(Node::Spell(list.to_owned())),
        (name, "") if !name.is_empty() => Ok(Node::Item(name.to_owned())),
        _ => Err(format!(
            "{{{inside}}}: write {{LIST}}, {{digits 3}}, {{groups 7-10}}, {{pairs 4}} or {{spell LIST}}"
        )),
    }
}

fn pause(inside: &str) -> Result<Node, String> {
    let problem = || format!("<{inside}>: write <pause 400-900> or <pause 400-900 whole>, from 200 to 2500 ms");
    let rest = inside.strip_prefix("pause ").ok_or_else(problem)?;
    let (length, whole) = match rest.strip_suffix(" whole") {
        Some(length) => (length, true),
        None => (rest, false),
    };
    let (from_ms, to_ms) = range(length)?;
    if from_ms < 200 || to_ms > 2_500 {
        return Err(problem());
    }
    Ok(Node::Pause { from_ms, to_ms, whole })
}

/// Reads `3` or `2-4`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let problem = || format!("{text:?} is no range: write a number such as 3, or two such as 2-4");
    let read = |part: &str| part.parse::<u64>().map_err(|_| problem());
    let (from, to) = (read(from)?, read(to)?);
    match from <= to && from > 0 {
        true => Ok((from, to)),
        false => Err(problem()),
    }
}
