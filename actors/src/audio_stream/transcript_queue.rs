//! Recogniser events that the stream has not taken yet. The queue stays short however fast the recogniser
//! talks. No final is lost; of interims and of turn signals only the newest is kept.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use domain::ports::transcriber::TranscriptEvent::{self, Failed, Final, Interim, TurnEnded, TurnPaused, TurnResumed};

/// Number of events that may wait. Further finals are joined to the last waiting one. The stream takes events
/// within milliseconds, and nobody finishes so many sentences meanwhile.
const MOST_WAITING: usize = 32;

/// Longest text of one event in bytes: about five minutes of speech. Longer texts are cut and marked as damaged.
const MOST_WORDS: usize = 32 * 1024;

/// The queue. The recogniser fills it, the stream empties it.
pub(super) struct TranscriptQueue {
    queue: Mutex<Queue>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<TranscriptEvent>,
    /// Whether the stream was woken since it last emptied the queue.
    announced: bool,
    /// Whether the recogniser gave up.
    over: bool,
}

impl TranscriptQueue {
    /// Creates an empty queue. `wake` tells the stream that an event is waiting.
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::default(),
            wake: Box::new(wake),
        })
    }

    /// Adds an event.
    pub(super) fn push(&self, event: TranscriptEvent) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.over {
            return;
        }
        queue.take(event);
        if !std::mem::replace(&mut queue.announced, true) {
            (self.wake)();
        }
    }

    /// Takes all waiting events, in order.
    pub(super) fn drain(&self) -> VecDeque<TranscriptEvent> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.announced = false;
        std::mem::take(&mut queue.events)
    }
}

impl Queue {
    fn take(&mut self, event: TranscriptEvent) {
        match event {
            Interim { mut text } => {
                cut(&mut text);
                self.drop_older(|event| matches!(event, Interim { .. }));
                self.events.push_back(Interim { text });
            }
            TurnPaused | TurnResumed => {
                self.drop_older(|event| matches!(event, TurnPaused | TurnResumed));
                self.events.push_back(event);
            }
            Final { mut text, damaged } => {
                let damaged = cut(&mut text) || damaged;
                if self.events.len() < MOST_WAITING || !self.join(&text, damaged) {
                    self.events.push_back(Final { text, damaged });
                }
            }
            TurnEnded => {
                let since = self
                    .events
                    .iter()
                    .rev()
                    .take_while(|event| !matches!(event, Final { .. }));
                if since.into_iter().all(|event| *event != TurnEnded) {
                    self.events.push_back(TurnEnded);
                }
            }
            Failed(_) => {
                self.over = true;
                self.events.push_back(event);
            }
        }
    }

    /// Drops the waiting event of this kind that comes after the last event that must stay.
    fn drop_older(&mut self, kind: impl Fn(&TranscriptEvent) -> bool) {
        let stays = |event: &TranscriptEvent| matches!(event, Final { .. } | TurnEnded);
        let older = self.events.iter().rposition(|event| stays(event) || kind(event));
        if let Some(older) = older.filter(|at| self.events.get(*at).is_some_and(&kind)) {
            self.events.remove(older);
        }
    }

    /// Joins a final to the last waiting final. Returns whether there is one.
    fn join(&mut self, more: &str, more_damaged: bool) -> bool {
        // The final contains the interim's words.
        self.drop_older(|event| matches!(event, Interim { .. }));
        let last = self.events.iter_mut().rev().find_map(|event| match event {
            Final { text, damaged } => Some((text, damaged)),
            _ => None,
        });
        let Some((text, damaged)) = last else { return false };
        if !text.is_empty() && !more.is_empty() {
            text.push(' ');
        }
        text.push_str(more);
        *damaged |= cut(text) || more_damaged;
        true
    }
}

/// Cuts a text that is too long. Returns whether anything was lost.
fn cut(text: &mut String) -> bool {
    let lost = text.len() > MOST_WORDS;
    if lost {
        let end = (0..=MOST_WORDS).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
    }
    lost
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;
    use domain::ports::transcriber::SpeechError;

    fn interim(text: &str) -> TranscriptEvent {
        Interim { text: text.into() }
    }

    fn settled(text: &str) -> TranscriptEvent {
        Final {
            text: text.into(),
            damaged: false,
        }
    }

    fn after(events: impl IntoIterator<Item = TranscriptEvent>) -> Vec<TranscriptEvent> {
        let heard = TranscriptQueue::new(|| ());
        events.into_iter().for_each(|event| heard.push(event));
        heard.drain().into()
    }

    #[test]
    fn of_interims_only_the_newest_waits_and_finals_stay_in_order() {
        let flood = (0..10_000).map(|n| interim(&n.to_string()));
        assert_eq!(after(flood), [interim("9999")]);
        let told = [
            interim("a"),
            TurnPaused,
            interim("a b"),
            TurnResumed,
            settled("a b"),
            TurnEnded,
            interim("c"),
            interim("c d"),
            settled("c d"),
        ];
        let waits = [
            interim("a b"),
            TurnResumed,
            settled("a b"),
            TurnEnded,
            interim("c d"),
            settled("c d"),
        ];
        assert_eq!(after(told), waits);
    }

    #[test]
    fn a_stream_is_woken_once_for_all_that_waits() {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = woken.clone();
        let heard = TranscriptQueue::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        for n in 0..10_000 {
            heard.push(interim(&n.to_string()));
            heard.push(settled("x"));
        }
        assert_eq!(woken.load(Ordering::Relaxed), 1, "its mailbox holds one message");
        heard.drain();
        heard.push(settled("y"));
        assert_eq!((woken.load(Ordering::Relaxed), heard.drain().len()), (2, 1));
    }

    #[test]
    fn no_final_is_lost_before_there_are_more_words_than_anybody_says() {
        let waits = after((0..1_000).flat_map(|n| [interim("x"), settled(&n.to_string()), TurnEnded]));
        let words: Vec<String> = waits
            .iter()
            .filter_map(|event| match event {
                Final { text, damaged } => {
                    assert!(!damaged);
                    Some(text.clone())
                }
                _ => None,
            })
            .collect();
        let said: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
        assert_eq!(words.join(" "), said.join(" "));
        assert!(waits.len() <= MOST_WAITING + 5);
        let waits = after((0..1_000).map(|_| settled(&"é".repeat(1_000))));
        let Some(Final { text, damaged }) = waits.last() else {
            panic!("{waits:?}")
        };
        assert!(*damaged && text.len() <= MOST_WORDS);
    }

    #[test]
    fn nothing_comes_behind_a_failure() {
        let failed = || Failed(SpeechError::Unavailable("x".into()));
        let waits = after([settled("a"), failed(), interim("b"), settled("b"), failed()]);
        assert_eq!(waits, [settled("a"), failed()]);
    }

    fn any_event() -> impl Strategy<Value = TranscriptEvent> {
        prop_oneof![
            "[ab ]{0,8}".prop_map(|text| Interim { text }),
            ("[ab ]{0,8}", any::<bool>()).prop_map(|(text, damaged)| Final { text, damaged }),
            Just(TurnEnded),
            Just(TurnPaused),
            Just(TurnResumed),
        ]
    }

    proptest! {
        #[test]
        fn what_waits_is_bounded_and_has_every_final_word(events in prop::collection::vec(any_event(), 0..300)) {
            let words = |events: &[TranscriptEvent]| {
                let finals = events.iter().filter_map(|event| match event {
                    Final { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                let finals: Vec<&str> = finals.flat_map(str::split_whitespace).collect();
                finals.join(" ")
            };
            let waits = after(events.iter().cloned());
            prop_assert!(waits.len() <= MOST_WAITING + 5, "{}", waits.len());
            prop_assert_eq!(words(&waits), words(&events));
        }
    }
}
