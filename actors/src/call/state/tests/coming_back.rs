//! Calls whose carrier asks how they go on, and such as another process held.

use std::collections::BTreeMap;

use super::{
    midcall::{CLOSED, hangs_up, outcomes, reopens, run, spoken},
    *,
};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, NodeId},
    ports::{
        language_model::Speaker,
        store::{CallDirection, CampaignContact, Claim, ClaimedAttempt, ReturnedCall, TurnFact},
    },
};

/// A call at a carrier that asks by itself.
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
    }
}

fn left(said: &[(Speaker, &str)], events: &[(&str, serde_json::Value)]) -> ReturnedCall {
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

/// What a call does whose media comes 500 ms after it was taken over.
fn heard_again(call: &ReturnedCall) -> (State, Vec<Effect>) {
    let (state, effects) = State::taken_over(rules(), id(1), call);
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
    let over = StreamEvent::SpeakingEnded {
        speech: SpeechId(0),
        heard: heard.clone(),
        at_ms: 2_000,
    };
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
    // Whoever calls us may be on the list.
    let inbound = ReturnedCall {
        direction: CallDirection::Inbound,
        ..call
    };
    assert!(heard_again(&inbound).1.contains(&Effect::StartReply));

    let found = |verdict: &str, reason: &str| [("amd", json!({ "verdict": verdict, "reason": reason }))];
    let (_, effects) = heard_again(&left(&[], &found("voicemail", "machine_words")));
    assert_eq!(spoken(&effects), ["Call us."]);
    let (state, effects) = heard_again(&left(&[], &found("ivr", "menu")));
    assert_eq!((state.phase(), spoken(&effects).len()), (CallPhase::Voicemail, 0));
    let (_, effects) = heard_again(&left(&[], &found("human", "words")));
    assert_eq!(spoken(&effects), ["Hello."]);
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
    let (_, late) = run(state.clone(), [(Event::Timer(CallTimer::Reopen), 4_500)]);
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
        // What the old socket still tells ends nothing.
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
