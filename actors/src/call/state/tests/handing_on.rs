//! Callers who are being transferred while something else goes wrong, and the consequences for the leg.

use super::{
    midcall::{BYE, CLOSED, TO, asked, handed_on, hangs_up, key, outcomes, reopens, run, spoken, tells, wants},
    *,
};
use domain::ports::carrier::TransferKind;

const DESK: &str = "+15550100002";

fn report(progress: CallProgress) -> Event {
    Event::Progress(progress)
}

fn failed() -> Event {
    report(CallProgress::TransferFailed("busy".into()))
}

fn over() -> Event {
    report(CallProgress::Ended(EndCause::Completed))
}

fn dies() -> Event {
    Event::Stream(StreamEvent::LineDied)
}

fn lost_answer() -> Event {
    Event::TransferAsked {
        try_no: 1,
        answer: TransferAnswer::Lost("connection reset".into()),
    }
}

fn times(effects: &[Effect], wanted: CallTimer) -> Vec<u64> {
    let set = effects.iter().filter_map(|effect| match effect {
        Effect::SetTimer(timer, ms) if *timer == wanted => Some(*ms),
        _ => None,
    });
    set.collect()
}

/// Returns a call whose destination rings while the agent stays with the caller.
fn conference() -> State {
    let events = [
        (wants(DESK, ""), 2_000),
        (Event::Reply(None), 2_010),
        (ended(1), 4_000),
        (asked(Ok(())), 4_100),
    ];
    let (state, effects) = run(at(CallPhase::Speaking), events);
    let rings = |effect: &Effect| {
        matches!(
            effect,
            Effect::Transfer {
                kind: TransferKind::Conference,
                ..
            }
        )
    };
    assert!(effects.iter().any(rings) && state.phase() == CallPhase::Transferring);
    state
}

// Callers in a conference.

#[test]
fn a_caller_who_is_rung_for_gets_lost_media_again_and_that_is_no_bad_news() {
    for loss in [CLOSED, Event::StreamGone { crashed: true }] {
        let (state, effects) = run(conference(), [(dies(), 6_000), (loss, 6_000)]);
        assert_eq!(reopens(&effects), 0, "the caller may have been joined this moment");
        assert_eq!(times(&effects, CallTimer::Reopen), [1_500]);
        let (state, effects) = run(state, [(Event::Timer(CallTimer::Reopen), 7_500)]);
        assert_eq!(reopens(&effects), 1);
        assert!(state.lacks_media());
        let (state, effects) = run(state, [(Event::MediaOpened, 8_000)]);
        assert!(effects.contains(&Effect::OpenStream));
        assert!(
            times(&effects, CallTimer::Transfer).is_empty(),
            "the destination still rings"
        );
        let (early, effects) = run(state.clone(), [(failed(), 9_000)]);
        assert_eq!(spoken(&effects), [early.rules.phrases.nobody_there]);
        let joined = report(CallProgress::Transferred);
        let (_, effects) = run(state, [(joined, 9_000), (Event::Timer(CallTimer::EndReport), 10_100)]);
        assert_eq!(outcomes(&effects), [("completed", None, true)]);
    }
}

#[test]
fn a_caller_who_was_joined_is_not_called_back() {
    for events in [
        vec![(CLOSED, 6_000), (report(CallProgress::Transferred), 6_100)],
        vec![(BYE, 6_000)],
        vec![(CLOSED, 6_000), (over(), 6_100)],
    ] {
        let told = format!("{events:?}");
        let (state, _) = run(conference(), events);
        let (_, effects) = run(state, [(Event::Timer(CallTimer::Reopen), 7_500)]);
        assert_eq!(reopens(&effects), 0, "{told}");
    }
}

#[test]
fn a_transfer_that_fails_while_the_media_is_gone_asks_for_it_once() {
    // The socket was requested and is expected.
    let reopen = [(CLOSED, 6_000), (Event::Timer(CallTimer::Reopen), 7_500)];
    let (waits, _) = run(conference(), reopen.clone());
    let (state, effects) = run(waits.clone(), [(failed(), 8_000)]);
    assert_eq!((state.phase(), reopens(&effects)), (CallPhase::Closing, 0));
    let (_, effects) = run(state, [(Event::MediaOpened, 8_500)]);
    assert_eq!(spoken(&effects), [rules().phrases.nobody_there]);
    // The socket could not be opened, or was not requested yet: it is requested now.
    let in_vain = (Event::NotReopened { try_no: 1 }, 7_600);
    let (_, effects) = run(waits, [in_vain, (failed(), 8_000)]);
    assert_eq!(reopens(&effects), 1);
    let (_, effects) = run(conference(), [(CLOSED, 6_000), (failed(), 6_500)]);
    assert_eq!(reopens(&effects), 1);
}

#[test]
fn silence_of_a_destination_that_is_rung_is_bad_news() {
    let (state, effects) = run(conference(), [(Event::Timer(CallTimer::Transfer), 49_100)]);
    assert_eq!((state.phase(), hangs_up(&effects)), (CallPhase::Speaking, false));
    assert_eq!(spoken(&effects), [state.rules.phrases.nobody_there]);
    // However the call goes on, its leg is hung up.
    let (_, effects) = run(
        state,
        [(Event::HangUp, 60_000), (Event::Timer(CallTimer::EndReport), 61_100)],
    );
    assert!(hangs_up(&effects));
    assert_eq!(outcomes(&effects), [("completed", None, false)]);
}

#[test]
fn the_time_of_a_transfer_begins_when_the_carrier_has_taken_the_wish() {
    let (state, effects) = run(handed_on(), [(asked(Ok(())), 9_000)]);
    assert_eq!(times(&effects, CallTimer::Transfer), [45_000]);
    let (_, effects) = run(state, [(asked(Ok(())), 9_100)]);
    assert!(effects.is_empty(), "told twice");
}

#[test]
fn a_caller_who_waits_is_told_now_and_then_that_the_line_stands() {
    let fillers = rules().phrases.fillers;
    let waits = |now_ms| (Event::Timer(CallTimer::Filler), now_ms);
    let (state, effects) = run(conference(), [waits(12_000)]);
    assert_eq!(spoken(&effects), [fillers[0]]);
    assert_eq!(times(&effects, CallTimer::Filler), [8_000]);
    let (state, effects) = run(state, [waits(20_000)]);
    assert!(spoken(&effects).is_empty(), "the first still plays");
    let (state, effects) = run(state, [(ended(2), 20_100), waits(28_000)]);
    assert_eq!(spoken(&effects), [fillers[1]]);
    // Words that play when nobody could be reached are stopped for the failure report.
    let (_, effects) = run(state, [(failed(), 28_100)]);
    assert!(effects.contains(&Effect::StopSpeaking));
    assert_eq!(spoken(&effects), [rules().phrases.nobody_there]);
    // A caller who hears the ringing needs no words, nor does one who hears nothing.
    let (_, effects) = run(at(CallPhase::Transferring), [waits(12_000)]);
    assert!(effects.is_empty());
    let (_, effects) = run(conference(), [(CLOSED, 6_000), waits(12_000)]);
    assert!(spoken(&effects).is_empty());
}

// A lost answer.

#[test]
fn a_lost_answer_to_the_wish_is_no_refusal() {
    // The caller has left us, so the request was taken.
    for events in [
        vec![(lost_answer(), 4_100), (BYE, 4_300)],
        vec![(BYE, 4_050), (lost_answer(), 4_100)],
    ] {
        let told = format!("{events:?}");
        let (state, effects) = run(handed_on(), events);
        assert_eq!(state.phase(), CallPhase::Transferring, "{told}");
        assert_eq!(times(&effects, CallTimer::Transfer).last(), Some(&45_000), "{told}");
        let (_, effects) = run(state, [(report(CallProgress::Transferred), 9_000)]);
        assert_eq!(outcomes(&effects), [("completed", None, true)], "{told}");
        assert!(!hangs_up(&effects), "{told}");
    }
    // The caller is still with us: the agent soon continues.
    let (state, effects) = run(handed_on(), [(lost_answer(), 4_100)]);
    assert_eq!((state.phase(), reopens(&effects)), (CallPhase::Transferring, 0));
    assert_eq!(times(&effects, CallTimer::Transfer), [5_000]);
    let (_, effects) = run(state.clone(), [(Event::Timer(CallTimer::Transfer), 9_100)]);
    assert_eq!(spoken(&effects), [state.rules.phrases.nobody_there]);
    // The caller hung up meanwhile.
    let hung_up = [
        (over(), 5_000),
        (Event::Timer(CallTimer::Transfer), 8_000),
        (Event::Timer(CallTimer::EndReport), 9_100),
    ];
    let (_, effects) = run(state, hung_up);
    assert!(!hangs_up(&effects));
    assert_eq!(outcomes(&effects), [("completed", None, false)]);
}

// Cost of failed transfers.

#[test]
fn transfers_that_failed_use_up_no_reopening() {
    let mut state = at(CallPhase::Speaking);
    for n in 0..5u32 {
        let (from_ms, speech) = (u64::from(n) * 10_000 + 2_000, u64::from(n) * 2 + 1);
        let taken = Event::TransferAsked {
            try_no: n + 1,
            answer: TransferAnswer::Taken,
        };
        let events = [
            (wants(TO, ""), from_ms),
            (Event::Reply(None), from_ms + 10),
            (ended(speech), from_ms + 2_000),
            (taken, from_ms + 2_100),
            (BYE, from_ms + 2_200),
            (failed(), from_ms + 5_000),
        ];
        state = run(state, events).0;
        assert!(state.lacks_media(), "transfer {n}");
        let (next, effects) = run(state, [(Event::MediaOpened, from_ms + 5_500)]);
        assert_eq!(spoken(&effects), [next.rules.phrases.nobody_there]);
        state = run(
            next,
            [
                (ended(speech + 1), from_ms + 6_000),
                (said("Try again."), from_ms + 6_500),
            ],
        )
        .0;
    }
    let (_, effects) = run(state, [(CLOSED, 60_000)]);
    assert_eq!(reopens(&effects), 1, "the line's own losses are what is counted");
}

// Reports at the wrong time.

#[test]
fn a_transfer_that_is_reported_during_the_goodbye_counts() {
    let (state, _) = run(
        handed_on(),
        [
            (asked(Ok(())), 4_100),
            (Event::Timer(CallTimer::MaxDuration), 4_500),
            (failed(), 5_000),
        ],
    );
    assert_eq!(state.phase(), CallPhase::Closing);
    let (_, effects) = run(
        state,
        [
            (report(CallProgress::Transferred), 6_000),
            (Event::Timer(CallTimer::EndReport), 7_100),
        ],
    );
    assert!(!hangs_up(&effects));
    assert_eq!(outcomes(&effects), [("completed", None, true)]);
}

fn deaf() -> Event {
    Event::Stream(StreamEvent::DeafnessBegan(SpeechError::Unavailable("gone".into())))
}

#[test]
fn who_cannot_hear_any_more_gives_up_when_the_conversation_begins() {
    let broken = rules().phrases.broken;
    let (state, effects) = run(conference(), [(deaf(), 6_000), (failed(), 9_000)]);
    assert_eq!((state.phase(), spoken(&effects)), (CallPhase::Closing, vec![broken]));
    let person = [(deaf(), 2_500), (tells(MachineVerdict::Human), 3_000)];
    let (state, effects) = run(at(CallPhase::Voicemail), person);
    assert_eq!((state.phase(), spoken(&effects)), (CallPhase::Closing, vec![broken]));
    // Another stream recognises speech.
    let back = [
        (deaf(), 4_200),
        (BYE, 4_300),
        (failed(), 5_000),
        (Event::MediaOpened, 6_000),
    ];
    let (state, effects) = run(at(CallPhase::Transferring), back);
    assert_eq!(spoken(&effects), [state.rules.phrases.nobody_there]);
}

#[test]
fn the_carriers_verdict_is_taken_when_the_media_is_back() {
    let lost = |verdict| {
        let events = [(CLOSED, 2_000), (tells(verdict), 3_000), (Event::MediaOpened, 4_000)];
        run(at(CallPhase::Greeting), events)
    };
    let (state, _) = lost(MachineVerdict::Machine);
    assert_eq!(state.phase(), CallPhase::Voicemail);
    let (state, effects) = lost(MachineVerdict::Beep);
    assert_eq!(state.phase(), CallPhase::Voicemail);
    assert_eq!(spoken(&effects).last(), Some(&"Call us."));
    let (_, effects) = lost(MachineVerdict::Fax);
    assert!(hangs_up(&effects));
    let (state, _) = lost(MachineVerdict::Human);
    assert_eq!(state.phase(), CallPhase::Speaking);
    // Only once.
    let (state, _) = lost(MachineVerdict::Machine);
    let (state, _) = run(state, [(found(Verdict::Ivr, Reason::Menu), 4_500)]);
    let (state, effects) = run(state, [(CLOSED, 5_000), (Event::MediaOpened, 6_000)]);
    let detected = |effect: &Effect| matches!(effect, Effect::Record(Fact::Event(event)) if event.name == "amd");
    assert!(!effects.iter().any(detected) && state.phase() == CallPhase::Voicemail);
}

#[test]
fn a_machine_that_only_the_carrier_has_found_is_listened_to_before_it_is_hung_up_on() {
    let mut silent = at(CallPhase::Listening);
    silent.rules.voicemail_message = None;
    let (state, effects) = run(silent.clone(), [(tells(MachineVerdict::Machine), 3_000)]);
    assert_eq!((state.phase(), hangs_up(&effects)), (CallPhase::Voicemail, false));
    assert_eq!(times(&effects, CallTimer::Machine), [10_000]);
    // With a menu or an assistant the call continues.
    let (menu, _) = run(state.clone(), [(found(Verdict::Ivr, Reason::Menu), 5_000)]);
    assert_eq!(menu.phase(), CallPhase::Voicemail);
    let (_, effects) = run(state.clone(), [(found(Verdict::Ivr, Reason::Screening), 5_000)]);
    assert_eq!(spoken(&effects).len(), 1);
    // A mailbox, a beep, the time limit or the carrier's second verdict ends the call.
    for end in [
        found(Verdict::Voicemail, Reason::MachineWords),
        Event::Stream(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 4_000 })),
        Event::Timer(CallTimer::Machine),
        tells(MachineVerdict::Beep),
    ] {
        let (state, effects) = run(state.clone(), [(end.clone(), 5_000)]);
        assert!(hangs_up(&effects) && spoken(&effects).is_empty(), "{end:?}");
        assert_eq!(state.phase(), CallPhase::Closing, "{end:?}");
    }
    // Pauses of the machine do not end the call.
    let (_, effects) = run(state, [(said("You have reached Northwind."), 5_000)]);
    assert!(times(&effects, CallTimer::Quiet).is_empty());
    // Our own verdict is certain.
    let (_, effects) = run(silent, [(found(Verdict::Voicemail, Reason::MachineWords), 5_000)]);
    assert!(hangs_up(&effects));
}

// Keys over the agent's words.

/// Returns a call whose agent is heard and may be interrupted.
fn heard() -> State {
    let begun = StreamEvent::Session(SessionEvent::SpeakingStarted {
        speech: SpeechId(1),
        at_ms: 700,
        audio_ms: None,
    });
    let events = [(Event::Timer(CallTimer::BargeIn), 1_600), (Event::Stream(begun), 1_700)];
    run(at(CallPhase::Speaking), events).0
}

#[test]
fn keys_that_end_with_a_hash_over_the_agents_words_are_answered() {
    for (keys, words) in [("#", "#"), ("12#", "12"), ("*#", "*")] {
        let typed = keys.chars().map(|c| (key(c), 2_000));
        let (state, effects) = run(heard(), typed);
        assert!(effects.contains(&Effect::StopSpeaking), "{keys}");
        let barged_in = Event::Stream(StreamEvent::Session(SessionEvent::BargedIn {
            speech: SpeechId(1),
            heard: "A".into(),
            at_ms: 1_030,
        }));
        // The tone of a key may be mistaken for voice.
        for stopped in [ended(1), barged_in] {
            let (state, effects) = run(state.clone(), [(stopped, 2_040)]);
            assert_eq!(state.phase(), CallPhase::Thinking, "{keys}");
            assert_eq!(turns(&effects).last(), Some(&words), "{keys}");
            assert_eq!(
                effects.iter().filter(|effect| **effect == Effect::StartReply).count(),
                1
            );
        }
    }
}

#[test]
fn keys_that_follow_an_entry_are_waited_for() {
    let typed = "1#2".chars().map(|c| (key(c), 2_000));
    let (state, _) = run(heard(), typed);
    let (state, effects) = run(state, [(ended(1), 2_040)]);
    assert_eq!(
        (state.phase(), turns(&effects)),
        (CallPhase::Listening, vec!["Hello.", "1"])
    );
    let (state, effects) = run(state, [(Event::Timer(CallTimer::Keys), 4_000)]);
    assert_eq!((state.phase(), turns(&effects)), (CallPhase::Thinking, vec!["2"]));
}

// Ownership of the leg.

#[test]
fn the_first_binding_of_a_leg_holds() {
    for (anothers, hung_up) in [(false, true), (true, false)] {
        let (state, effects) = run(at(CallPhase::Ringing), [(Event::NotOurLeg { anothers }, 1_500)]);
        assert_eq!((state.phase(), hangs_up(&effects)), (CallPhase::Ended, hung_up));
        let (_, _, transferred) = outcomes(&effects)[0];
        assert!(outcomes(&effects)[0].1.is_some() && !transferred);
    }
}
