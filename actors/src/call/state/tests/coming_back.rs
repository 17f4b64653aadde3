//! Calls whose carrier asks how they go on, and calls that another process held.

use std::collections::BTreeMap;

use super::{
    live::recorded,
    midcall::{CLOSED, hangs_up, outcomes, reopens, run, spoken},
    *,
};
use domain::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, NodeId},
    ports::{
        language_model::{HistoryItem, Speaker},
        store::{CallDirection, CampaignContact, Claim, ClaimedAttempt, ReturnedCall, TurnFact},
    },
};

/// Returns a call at a carrier that asks by itself.
fn asked_for(phase: CallPhase) -> State {
    let mut state = at(phase);
    state.rules.carrier.comes_back = true;
    state
}

fn turn(seq: i64, speaker: Speaker, text: &str) -> TurnFact {
    TurnFact {
        seq,
        speaker,
        text: text.to_owned(),
        started_ms: 1_000 * seq,
        ended_ms: 1_000 * seq + 900,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    }
}

pub(super) fn left(said: &[(Speaker, &str)], events: &[(&str, serde_json::Value)]) -> ReturnedCall {
    let said = said.iter().zip(0..);
    let event = |(name, detail): &(&str, serde_json::Value)| EventFact {
        name: (*name).to_owned(),
        at_ms: 10_000,
        detail: detail.to_string(),
    };
    let claim = Claim {
        attempt: AttemptId::new(),
        owner: NodeId::new(),
        epoch: 2,
    };
    ReturnedCall {
        attempt: ClaimedAttempt {
            claim,
            account: AccountId::new(),
            campaign: None,
            agent: AgentId::new(),
            contact_index: 0,
            attempt_no: 1,
            tries: Default::default(),
            contact: CampaignContact {
                phone_number: "+15550100010".parse().unwrap(),
                contact: None,
                name: None,
                email: None,
                extra: Default::default(),
            },
            saved_extra: Default::default(),
            variables: Default::default(),
        },
        direction: CallDirection::Outbound,
        token: DialToken::random(),
        caller_id: None,
        elapsed_ms: 30_000,
        turns: said.map(|((speaker, text), seq)| turn(seq, *speaker, text)).collect(),
        events: events.iter().map(event).collect(),
        collected: BTreeMap::from([("name".to_owned(), "Ada".to_owned())]),
        opted_out: false,
    }
}

const QUESTION: (Speaker, &str) = (Speaker::Agent, "Thank you. How old are you?");
const ANSWER: (Speaker, &str) = (Speaker::User, "I am five.");

/// Returns the rules of an agent that listens for opt-out wishes.
fn listening() -> Rules {
    Rules {
        smart_opt_out: true,
        ..rules()
    }
}

/// Returns the effects of a call whose media comes 500 ms after the takeover.
fn heard_again(call: &ReturnedCall) -> (State, Vec<Effect>) {
    let (state, effects) = State::taken_over(listening(), id(1), call);
    assert!(state.lacks_media(), "{effects:?}");
    assert!(!effects.contains(&Effect::AskPermit) && !effects.contains(&Effect::WriteAnswered));
    run(state, [(Event::MediaOpened, 30_500)])
}

#[test]
fn a_call_that_was_taken_over_speaks_first_and_goes_on_where_it_was() {
    let phrases = rules().phrases;
    let same = format!("{} How old are you?", phrases.lost_you);
    for (said, says, thinks) in [
        (&[][..], "Hello.".to_owned(), false),
        (&[ANSWER, QUESTION][..], same, false),
        (&[QUESTION, ANSWER][..], format!("{} ", phrases.lost_you), true),
        (&[(Speaker::Agent, "I see.")][..], phrases.cut_off.to_owned(), false),
    ] {
        let (state, effects) = heard_again(&left(said, &[]));
        assert!(effects.contains(&Effect::OpenStream) && !state.lacks_media());
        assert_eq!(spoken(&effects), [says], "{said:?}");
        assert_eq!(effects.contains(&Effect::StartReply), thinks, "{said:?}");
        assert_eq!(state.history().items().len(), said.len());
        assert_eq!(state.history().collected().get("name").map(String::as_str), Some("Ada"));
    }
}

#[test]
fn a_reply_follows_the_short_word_that_the_line_was_gone() {
    let (state, _) = heard_again(&left(&[QUESTION, ANSWER], &[]));
    let (state, effects) = run(state, [(text("Five it is. "), 31_000), (Event::Reply(None), 31_100)]);
    assert_eq!(spoken(&effects)[0], "Five it is. ");
    assert_eq!(state.phase(), CallPhase::Speaking);
    let heard = format!("{} Five it is.", rules().phrases.lost_you);
    let over = StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(0),
        heard: heard.clone(),
        at_ms: 2_000,
    });
    let (state, effects) = run(state, [(Event::Stream(over), 33_000)]);
    assert_eq!(state.phase(), CallPhase::Listening);
    let turn = effects.iter().find_map(|effect| match effect {
        Effect::Record(Fact::Turn(turn)) => Some(turn.clone()),
        _ => None,
    });
    let turn = turn.unwrap();
    assert_eq!(
        (turn.text, turn.ended_ms),
        (heard, 32_500),
        "behind what was said before"
    );
    assert!(turn.seq > 1, "{}", turn.seq);
}

#[test]
fn an_operator_who_had_the_call_is_gone_with_its_node_and_the_agent_says_so() {
    let said = [QUESTION, (Speaker::Operator, "This is Ada."), ANSWER];
    let joined = ("operator_joined", json!({ "by": "Ada" }));
    let call = left(&said, std::slice::from_ref(&joined));
    let (_, effects) = State::taken_over(listening(), id(1), &call);
    let gone = json!({ "by": "Ada", "reason": "lost" });
    assert_eq!(recorded(&effects, "operator_left"), [gone]);
    let (state, effects) = heard_again(&call);
    assert_eq!(spoken(&effects), [rules().phrases.back_with_you]);
    let over = StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(0),
        heard: rules().phrases.back_with_you.to_owned(),
        at_ms: 2_000,
    });
    let (_, effects) = run(state, [(Event::Stream(over), 33_000)]);
    assert!(effects.contains(&Effect::StartReply), "{effects:?}");
    // One who gave the call back before is forgotten.
    let left_before = ("operator_left", json!({ "by": "Ada", "reason": "given_back" }));
    let call = left(&said, &[joined, left_before]);
    let (_, effects) = State::taken_over(listening(), id(1), &call);
    assert!(recorded(&effects, "operator_left").is_empty(), "{effects:?}");
    assert!(heard_again(&call).1.contains(&Effect::StartReply));
}

#[test]
fn time_runs_on_from_the_answer() {
    let mut call = left(&[QUESTION], &[]);
    let whole_ms = rules().max_duration_ms - rules().closing_lead_ms();
    let (_, effects) = State::taken_over(rules(), id(1), &call);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::MaxDuration, whole_ms - 30_000)));
    call.elapsed_ms = i64::MAX;
    let (_, effects) = State::taken_over(rules(), id(1), &call);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::MaxDuration, 1)));
}

#[test]
fn who_opted_out_hears_goodbye_and_a_mailbox_its_message() {
    let call = ReturnedCall {
        opted_out: true,
        ..left(&[QUESTION, (Speaker::User, "Never call me again.")], &[])
    };
    let (state, effects) = heard_again(&call);
    assert_eq!(spoken(&effects), [rules().phrases.opted_out]);
    assert_eq!(state.phase(), CallPhase::Closing);
    // A caller may be on the do-not-call list.
    let inbound = ReturnedCall {
        direction: CallDirection::Inbound,
        opted_out: true,
        ..left(&[QUESTION, ANSWER], &[])
    };
    assert!(heard_again(&inbound).1.contains(&Effect::StartReply));

    let found = |verdict: &str, reason: &str| [("amd", json!({ "verdict": verdict, "reason": reason }))];
    let (state, effects) = heard_again(&left(&[], &found("voicemail", "machine_words")));
    assert_eq!(spoken(&effects).len(), 0, "its beep may still come");
    let beep = Event::Stream(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 900 }));
    let (_, effects) = run(state, [(beep, 31_500)]);
    assert_eq!(spoken(&effects), ["Call us."]);
    let (state, effects) = heard_again(&left(&[], &found("ivr", "menu")));
    assert_eq!((state.phase(), spoken(&effects).len()), (CallPhase::Voicemail, 0));
    let (_, effects) = heard_again(&left(&[], &found("human", "words")));
    assert_eq!(spoken(&effects), ["Hello."]);
}

const MEANT: (Speaker, &str) = (Speaker::Agent, "Do you want us never to call you again?");
const PERHAPS: (Speaker, &str) = (Speaker::User, "Don't call me, I'm driving.");
const YES: (Speaker, &str) = (Speaker::User, "Yes, please.");
const NO: (Speaker, &str) = (Speaker::User, "No, that's fine.");

fn opts_out(effects: &[Effect]) -> bool {
    effects.contains(&Effect::WriteOptOut)
}

#[test]
fn a_wish_never_to_be_called_again_outlives_the_process_that_heard_it() {
    let phrases = rules().phrases;
    // The wish was answered but not written: it is written before there is any media.
    for said in [
        &[QUESTION, MEANT, YES][..],
        &[QUESTION, (Speaker::Agent, "Do you want us never to call"), YES][..],
        &[QUESTION, (Speaker::User, "Never call me again.")][..],
    ] {
        let (_, effects) = State::taken_over(listening(), id(1), &left(said, &[]));
        assert!(opts_out(&effects), "{said:?}");
        let (state, effects) = heard_again(&left(said, &[]));
        assert_eq!(spoken(&effects), [phrases.opted_out], "{said:?}");
        assert_eq!(state.phase(), CallPhase::Closing);
    }
    // The question was asked and not answered: it is asked again, and the answer counts.
    let again = format!("{} {}", phrases.lost_you, phrases.opt_out_meant);
    let call = left(&[QUESTION, ANSWER, MEANT], &[]);
    let (state, effects) = heard_again(&call);
    assert_eq!((spoken(&effects), opts_out(&effects)), (vec![again.as_str()], false));
    let over = || {
        Event::Stream(StreamEvent::Session(SessionEvent::SpeakingEnded {
            speech: SpeechId(0),
            heard: again.clone(),
            at_ms: 2_000,
        }))
    };
    let (heard, _) = run(state, [(over(), 33_000)]);
    let (_, effects) = run(heard.clone(), [(said("Yes."), 36_000)]);
    assert!(
        opts_out(&effects) && spoken(&effects) == [phrases.opted_out],
        "{effects:?}"
    );
    let (_, effects) = run(heard, [(said("No."), 36_000)]);
    assert!(
        !opts_out(&effects) && effects.contains(&Effect::StartReply),
        "{effects:?}"
    );
    // A user who said no is not asked again.
    let (state, effects) = heard_again(&left(&[QUESTION, MEANT, NO], &[]));
    assert!(!opts_out(&effects) && effects.contains(&Effect::StartReply));
    let (_, effects) = run(state, [(said("Yes."), 36_000)]);
    assert!(!opts_out(&effects), "that answers something else: {effects:?}");
    // An agent that does not listen for the wish hears none.
    let (_, effects) = State::taken_over(rules(), id(1), &left(&[QUESTION, MEANT, YES], &[]));
    assert!(!opts_out(&effects));
}

#[test]
fn a_likely_wish_that_nobody_asked_about_is_asked_about() {
    assert_eq!(domain::opt_out::wish(PERHAPS.1), Some(domain::opt_out::Wish::Likely));
    let asks = |said: &[(Speaker, &str)]| {
        spoken(&heard_again(&left(said, &[])).1)
            .join(" ")
            .contains("never to call")
    };
    assert!(asks(&[QUESTION, PERHAPS]));
    assert!(!asks(&[PERHAPS, MEANT, NO, QUESTION, PERHAPS]), "once in a call");
}

/// Returns a call with verdicts on who answered, one second before the first turn.
fn verdicts(told: &[(&str, &str)], said: &[(Speaker, &str)]) -> ReturnedCall {
    let detail = |(verdict, reason): &(&str, &str)| ("amd", json!({ "verdict": verdict, "reason": reason }));
    let mut call = left(said, &told.iter().map(detail).collect::<Vec<_>>());
    for turn in &mut call.turns {
        turn.started_ms += 11_000;
        turn.ended_ms += 11_000;
    }
    call
}

#[test]
fn who_is_talked_with_is_no_machine_whatever_was_thought_once() {
    let talks = |told: &[(&str, &str)], said: &[(Speaker, &str)]| {
        heard_again(&verdicts(told, said)).0.phase() != CallPhase::Voicemail
    };
    let (ours, carriers) = (("voicemail", "machine_words"), ("voicemail", "carrier"));
    let person = ("human", "carrier");
    let message = (Speaker::Agent, "Call us.");
    let greeting = (Speaker::User, "Please leave a message after the tone.");
    for (told, said, talk) in [
        (&[ours][..], &[][..], false),
        (&[ours], &[greeting], false),
        (&[ours], &[greeting, message], false),
        (&[ours], &[(Speaker::Agent, "Hello."), ANSWER, QUESTION], true),
        (&[ours, person], &[], true),
        (&[person, ours], &[ANSWER], true),
        (&[carriers, ("human", "words")], &[], false),
        (&[ours, ("human", "words")], &[], true),
        (&[ours, ("unknown", "words")], &[], false),
        (&[("ivr", "menu")], &[], false),
        (&[("ivr", "menu")], &[QUESTION, ANSWER], true),
        (&[("ivr", "screening"), ("human", "words")], &[], false),
    ] {
        assert_eq!(talks(told, said), talk, "{told:?} {said:?}");
    }
    let (_, effects) = heard_again(&verdicts(&[ours], &[greeting, message]));
    assert_eq!(spoken(&effects), ["Call us."], "it was cut, and is said again");
}

#[test]
fn what_was_run_is_not_run_again_and_new_runs_have_numbers_of_their_own() {
    let begun = |run: u64| ("tool_begun", json!({ "name": "book", "run": run }));
    let done = |run: u64, ok: bool| ("tool", json!({ "name": "book", "run": run, "ok": ok, "ms": 40 }));
    let mut call = left(
        &[QUESTION, ANSWER],
        &[begun(1), begun(2), done(1, true), done(2, false), begun(3)],
    );
    let numbers = |call: &ReturnedCall| {
        let (state, _) = heard_again(call);
        let told: Vec<_> = state
            .history()
            .items()
            .iter()
            .filter_map(|item| match item {
                HistoryItem::Tool { name, result, .. } => Some((name.clone(), result["status"].clone())),
                _ => None,
            })
            .collect();
        let known = ["done", "failed", "unknown"].map(|status| ("book".to_owned(), json!(status)));
        assert_eq!(told, known);
        let offered = Event::ToolsOffered(vec!["book".to_owned()]);
        let (_, effects) = run(state, [(offered, 30_600), (tool("book", json!({})), 30_700)]);
        let numbers: Vec<u64> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::RunTool { run, .. } => Some(*run),
                _ => None,
            })
            .collect();
        assert_eq!(numbers.len(), 1);
        numbers
    };
    let first = numbers(&call);
    assert!(
        first[0] > 1_000,
        "the last one's own may have been begun and not told: {first:?}"
    );
    call.events.push(EventFact {
        name: "taken_over".to_owned(),
        at_ms: 1,
        detail: "{}".to_owned(),
    });
    assert_ne!(numbers(&call), first);
}

#[test]
fn who_was_being_handed_on_and_comes_back_hears_that_nobody_is_there() {
    let taken = |kind: &str| ("transfer_taken", json!({ "kind": kind }));
    let failed = ("transfer_failed", json!({ "reason": "busy" }));
    let tells = |events: &[(&str, serde_json::Value)]| {
        let call = left(&[QUESTION, ANSWER, (Speaker::Agent, "One moment.")], events);
        let (_, at_once) = State::taken_over(rules(), id(1), &call);
        let told = at_once
            .iter()
            .any(|effect| matches!(effect, Effect::Record(Fact::Event(event)) if event.name == "transfer_failed"));
        let (_, effects) = heard_again(&call);
        assert_eq!(told, spoken(&effects) == [rules().phrases.nobody_there], "{effects:?}");
        told
    };
    assert!(tells(&[taken("blind")]) && tells(&[failed.clone(), taken("conference")]));
    assert!(!tells(&[]) && !tells(&[taken("blind"), failed]));
}

#[test]
fn a_call_that_nobody_opens_media_for_ends() {
    let (state, effects) = State::taken_over(rules(), id(1), &left(&[QUESTION], &[]));
    assert!(effects.contains(&Effect::SetTimer(CallTimer::EndReport, 20_000)));
    let (_, effects) = run(state.clone(), [(Event::Timer(CallTimer::EndReport), 50_000)]);
    assert_eq!(outcomes(&effects), [("failed", Some("media-lost".into()), false)]);
    assert!(hangs_up(&effects));
    let over = Event::Progress(CallProgress::Ended(EndCause::Completed));
    let (_, effects) = run(state, [(over, 31_000)]);
    assert_eq!(outcomes(&effects), [("completed", None, false)]);
    assert!(!hangs_up(&effects));
}

#[test]
fn a_carrier_that_asks_by_itself_is_not_asked_for_the_socket_at_once() {
    let (state, effects) = run(asked_for(CallPhase::Listening), [(CLOSED, 2_000)]);
    assert_eq!(reopens(&effects), 0);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Reopen, 2_500)));
    let (asked, late) = run(state.clone(), [(Event::Timer(CallTimer::Reopen), 4_500)]);
    let again = run(asked, [(Event::Timer(CallTimer::Reopen), 4_600)]).1;
    assert_eq!(reopens(&again), 0, "it was asked");
    assert_eq!(reopens(&late), 1, "it has not asked");
    let (state, effects) = run(state, [(Event::CameBack, 2_100)]);
    assert!(effects.contains(&Effect::CancelTimer(CallTimer::Reopen)) && state.lacks_media());
    let (state, effects) = run(state, [(Event::MediaOpened, 2_600)]);
    assert_eq!(spoken(&effects), [state.rules.phrases.cut_off]);
    let (_, effects) = run(state, [(Event::Timer(CallTimer::Reopen), 4_500)]);
    assert_eq!(reopens(&effects), 0);
}

#[test]
fn a_carrier_that_asks_tells_that_the_socket_is_gone() {
    for phase in [
        CallPhase::Answered,
        CallPhase::Greeting,
        CallPhase::Listening,
        CallPhase::Thinking,
        CallPhase::Speaking,
        CallPhase::Voicemail,
    ] {
        let (state, effects) = run(asked_for(phase), [(Event::CameBack, 5_000)]);
        assert!(state.lacks_media(), "{phase:?}: {effects:?}");
        assert!(
            effects.contains(&Effect::CloseStream) && !hangs_up(&effects),
            "{phase:?}"
        );
        // Reports of the old socket end nothing.
        let (state, effects) = run(state, [(CLOSED, 5_001), (Event::MediaOpened, 6_000)]);
        assert!(finishes(&effects).is_empty() && !state.lacks_media(), "{phase:?}");
    }
    for phase in [CallPhase::Closing, CallPhase::Ended] {
        let (state, _) = run(asked_for(phase), [(Event::CameBack, 5_000)]);
        assert!(!state.lacks_media(), "{phase:?}: it is to be hung up");
    }
    let (state, _) = run(asked_for(CallPhase::Ringing), [(Event::CameBack, 5_000)]);
    assert!(state.lacks_media(), "its first socket did not come about");
}

#[test]
fn a_call_whose_sockets_never_stay_is_over_at_last() {
    for first in [CallPhase::Ringing, CallPhase::Listening] {
        let mut state = asked_for(first);
        let mut asked = 0;
        while state.lacks_media() || asked == 0 {
            asked += 1;
            assert!(asked < 20, "{first:?}");
            state = run(state, [(Event::CameBack, 5_000 + asked)]).0;
        }
        assert!(asked > 2, "{first:?}: {asked}");
        let over = Event::Progress(CallProgress::Ended(EndCause::Completed));
        let (_, effects) = run(state, [(over, 9_000), (Event::Timer(CallTimer::EndReport), 9_000)]);
        assert!(finishes(&effects).len() <= 1);
    }
}

#[test]
fn a_note_to_the_model_for_the_call_holds_after_a_takeover() {
    let events = [
        (
            "instructions",
            serde_json::json!({ "by": "rb_key…", "text": "Be kind." }),
        ),
        (
            "instructions",
            serde_json::json!({ "by": "rb_key…", "text": "Be brief.", "for": "call" }),
        ),
        (
            "instructions",
            serde_json::json!({ "by": "rb_key…", "text": "Ask once.", "for": "turn" }),
        ),
    ];
    let (state, _) = State::taken_over(rules(), id(1), &left(&[QUESTION], &events));
    assert_eq!(super::live::notes(&state), ["Be kind.", "Be brief."]);
}
