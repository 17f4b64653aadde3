//! The wish never to be called again in English.

use super::pattern::{Table, Then, clear, likely};

pub(super) static TABLE: Table = Table {
    classes: &[
        ("call", "call|phone|ring|contact|telephone|dial|text|message"),
        (
            "calling",
            "calling|phoning|ringing|contacting|telephoning|dialing|dialling|texting",
        ),
        ("called", "called|phoned|contacted|rung|telephoned"),
        // After one of these the speaker describes something and does not ask for it.
        (
            "who",
            "i|we|they|he|she|it|who|kids|children|people|nobody|you|id|ill|cant|wont|will|would|did",
        ),
        (
            "take",
            "take|remove|delete|get|strike|scratch|cross|drop|pull|erase|wipe",
        ),
        ("me", "me|us"),
        ("mine", "my|our|this|the|that"),
        ("detail", "number|numbers|name|details|info|information|contact|data"),
        ("phone", "phone|cell|telephone|mobile"),
        (
            "list",
            "list|lists|database|system|records|record|file|files|books|directory|contacts|register|registry",
        ),
    ],
    rules: &[
        clear("!$who dont|never ever? $call", Then::Good),
        clear("!$who do not ever? $call", Then::Good),
        clear("!$who|why dont you|anyone|anybody ever|dare? $call", Then::Good),
        clear("you|people|guys|already|before not to ever? $call", Then::Good),
        clear(
            "rather|prefer ..2 you|people|guys didnt|dont|wouldnt ever? $call",
            Then::Good,
        ),
        clear(
            "rather|prefer ..2 you|people|guys did|do|would not ever? $call",
            Then::Good,
        ),
        clear("not ..2 be $called", Then::Ever),
        clear(
            "dont|not want|wish|wanna|need|like you|anyone|anybody|people|guys ..3 $call|$calling",
            Then::Good,
        ),
        clear("dont|not want|wish|wanna|need|like to be $called", Then::Ever),
        clear(
            "dont|not want|wish|wanna|need ..3 any? more|further $phone? calls|call|contact",
            Then::Ever,
        ),
        clear("no more|further $phone? calls|calling", Then::Ever),
        clear("!$who stop|quit|cease $calling", Then::Good),
        clear("stop|quit|cease these|those|the|your|all $phone? calls", Then::Ever),
        clear(
            "$take $me|everything off|from|out of? your|the|this|that|any|all ~waiting|wait|guest|standby|invitation ..2 $list",
            Then::Free,
        ),
        clear(
            "$take $mine $phone? $detail off|from|out of? your|the|this|that|any|all ..2 $list",
            Then::Free,
        ),
        clear(
            "$take $mine $phone? number|numbers off? please|thanks|thank|now|and|from|immediately",
            Then::Ever,
        ),
        clear("$take $mine $phone? number|numbers off? >", Then::Free),
        clear("take|get|remove $me off? please|thanks|now? >", Then::Free),
        clear("!to|i|you|we|they lose|forget my|our|this $phone? number", Then::Ever),
        clear("do|dont not? call|contact $list", Then::Free),
        clear("opt|opting|opted $me? out please|now|thanks? >", Then::Free),
        clear(
            "opt|opting $me? out of|from these|this|your|all|any|the? calls|calling|list|lists|phone|contact",
            Then::Free,
        ),
        clear("unsubscribe $me? please|now? >", Then::Free),
        likely("leave $me alone", Then::Ever),
        likely(
            "!$who stop|quit bothering|harassing|bugging|pestering|disturbing|spamming|hounding $me",
            Then::Ever,
        ),
        likely("!$who dont bother|disturb|bug|harass $me", Then::Ever),
        likely("!$who dont bother $calling|to", Then::Good),
        likely(
            "dont want|need to? get|receive|have|take? any|these|your $phone? calls",
            Then::Ever,
        ),
        likely("sick|tired|fed of|up with? ..3 calls|calling", Then::Ever),
        likely("if you ever? $call $me|here|this again", Then::Ever),
    ],
    limits: "before|after|now|today|tonight|tomorrow|at|on|until|till|during|in|so|while|unless|when|between|yet|\
             morning|evening|night|noon|lunch|weekend|weekends|early|late|monday|tuesday|wednesday|thursday|friday|\
             saturday|sunday|week|month|driving|busy|meeting|working|sleeping|instead",
    for_good: &[
        "at all",
        "at|on this|my|our $phone? number|phone|line|house|cell|mobile",
        "in the? future",
        "now or ever",
        "from now on",
        "so much|many? times",
        "on any|your list|number",
    ],
    goes_on: &[
        "me|us|here|him|her|them|back|again|anymore|ever|please|thanks|okay|ok|yaar|bhai|ji|man|people|guys",
        "any more|longer|other|further",
        "day|time|reason",
        "thank you",
        "this|my|our|that $phone? number|phone|house|home|line|cell|mobile|office",
        "for any|whatever",
        "another|one more? time",
        "every|all day|the|time|week|month? time?",
        "under any circumstances",
        "no more|longer",
    ],
    breaks: "and|or|im|i|ill|we|its|cause|because|you|thats|understood|understand|got",
    asks: &[
        "!dont|not|never|you|ever|to|not call|phone|ring|try me|us ~again|anymore|ever",
        "!dont|not|never call|phone|ring|try|use my|our|the mobile|cell|office|home|work|other",
    ],
    joins: false,
};
