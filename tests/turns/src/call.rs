//! Runs a conversation through an audio session in simulated time: the agent asks its questions, the caller
//! answers after each and makes sounds during others, and a recogniser tells the words.

mod overlap;

use std::collections::VecDeque;

use media::{
    babble::{Speaker, UnsupportedRate, Voice as BabbleVoice},
    playout::WordEnd,
    session::{
        AudioSession, LineOutput, Manner as SpeechManner, Say, SessionConfig, SessionError, SessionEvent, SpeechId,
    },
    turn::endpointing::{PausePolicy, evidence::Moment},
};

use crate::{
    chance::Chance,
    corpus::{Conversation, Item},
    language::grammar,
    line::{ABILITIES, FORMAT, FRAME_MS, Line},
    recogniser::{Manner, Recogniser},
    record::{CallRecord, Cut, OverlapRecord, TurnEnd, TurnRecord},
    sentence::{Sentence, bare},
    voice::{Spoken, SpokenPause, Voice, ms_of},
};

/// Longest wait for a turn to be taken, in milliseconds.
const LOST_MS: u64 = 6_000;

/// Longest speech of the agent, in milliseconds.
const LONGEST_SPEECH_MS: u64 = 60_000;

/// Time from the end of a turn to the agent's next words, in milliseconds: about that of a language model and a
/// tts provider.
pub const REPLY_MS: u64 = 680;

/// Silence in milliseconds from which the caller is silent.
const SILENT_MS: u64 = 60;

/// Pitch of the agent's voice in Hz.
const AGENT_HZ: f32 = 128.0;

/// How readily the agent takes its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eagerness {
    /// The agent's setting `eager`.
    Eager,
    /// The agent's setting `normal`.
    Normal,
    /// The agent's setting `patient`.
    Patient,
    /// Another base pause in milliseconds.
    Base(u64),
    /// So late that every pause of the corpus is over.
    Never,
}

/// Silence in milliseconds after which the last of them takes its turn.
const NEVER_MS: u64 = 4_500;

impl Eagerness {
    /// Returns the policy that an agent with this setting has.
    fn policy(self) -> PausePolicy {
        PausePolicy {
            base_ms: match self {
                Self::Eager => 250,
                Self::Normal => 450,
                Self::Patient => 800,
                Self::Base(ms) => ms,
                Self::Never => NEVER_MS,
            },
            fixed_ms: (self == Self::Never).then_some(NEVER_MS),
            spelling_patience: true,
        }
    }
}

/// Error: a call that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The session refused the line.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Babble refused the rate.
    #[error("babble: {0}")]
    Babble(#[from] UnsupportedRate),
    /// The conversation's grammar cannot be read.
    #[error(transparent)]
    Grammar(#[from] crate::grammar::GrammarError),
}

/// A caller's turn, and what the session knew in its silences.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Number of the item in the conversation.
    pub item: usize,
    /// Kind of the turn.
    pub kind: String,
    /// Its pauses, in milliseconds from its start.
    pub pauses: Vec<SpokenPause>,
    /// Its length in milliseconds.
    pub length_ms: u64,
    /// Knowledge of the session in each frame without voice, with the milliseconds from the start of the turn.
    pub moments: Vec<(u64, Moment)>,
}

/// Runs a conversation as [`run`], and watches what the session knows.
///
/// # Errors
/// Returns an error if the session or babble refuses the line's rate.
pub fn watch(
    conversation: &Conversation,
    heard: (Voice, &[Spoken]),
    manner: &Manner,
    eagerness: Eagerness,
) -> Result<(CallRecord, Vec<Watched>), CallError> {
    let mut watched = Vec::new();
    let record = run_with(conversation, heard, manner, eagerness, Some(&mut watched))?;
    Ok((record, watched))
}

/// Runs a conversation whose items sound as `spoken`. The same arguments give the same record.
///
/// # Errors
/// Returns an error if the session or babble refuses the line's rate.
pub fn run(
    conversation: &Conversation,
    heard: (Voice, &[Spoken]),
    manner: &Manner,
    eagerness: Eagerness,
) -> Result<CallRecord, CallError> {
    run_with(conversation, heard, manner, eagerness, None)
}

fn run_with(
    conversation: &Conversation,
    (voice, spoken): (Voice, &[Spoken]),
    manner: &Manner,
    eagerness: Eagerness,
    mut watched: Option<&mut Vec<Watched>>,
) -> Result<CallRecord, CallError> {
    let grammar = grammar(conversation.language, conversation.third)?;
    let digits = grammar.lists().get("digit").map_or(&[][..], Vec::as_slice);
    let mut call = Call::new(conversation, manner, digits, eagerness)?;
    let caller = &conversation.caller;
    let echo = if caller.echo.is_some() { ", echo" } else { "" };
    let mut record = CallRecord {
        id: conversation.id.clone(),
        language: conversation.language,
        third: conversation.third,
        voice,
        recogniser: manner.name,
        line: format!("{}{echo}", caller.noise),
        is_noisy: caller.noise.is_any(),
        turns: Vec::new(),
        overlaps: Vec::new(),
        speeches: conversation.items.len(),
        stopped_by_line: 0,
    };
    for (at, (item, spoken)) in conversation.items.iter().zip(spoken).enumerate() {
        match item {
            Item::Turn {
                kind,
                question,
                sentence,
                gap_ms,
            } => {
                call.moments = watched.as_ref().map(|_| Vec::new());
                let end = call.turn(question, spoken, *gap_ms)?;
                if let Some(watched) = watched.as_deref_mut() {
                    watched.push(Watched {
                        item: at,
                        kind: kind.clone(),
                        pauses: spoken.pauses.clone(),
                        length_ms: spoken.length_ms(),
                        moments: call.moments.take().unwrap_or_default(),
                    });
                }
                record.turns.push(TurnRecord {
                    kind: kind.clone(),
                    question: question.clone(),
                    text: sentence.marked(),
                    end,
                });
            }
            Item::Overlap {
                kind,
                speech,
                sentence,
                offset_ms,
            } => {
                let text = sentence.marked();
                let overlap = call.overlap(*kind, speech, spoken, *offset_ms)?;
                record
                    .overlaps
                    .extend(overlap.map(|overlap| OverlapRecord { text, ..overlap }));
            }
        }
        call.rest(REPLY_MS)?;
    }
    record.stopped_by_line = call.stopped_by_line;
    Ok(record)
}

/// Words of a conversation, for which others are mistaken.
fn confusions(conversation: &Conversation) -> Vec<String> {
    let sentences = conversation.items.iter().map(|item| match item {
        Item::Turn { sentence, .. } | Item::Overlap { sentence, .. } => sentence,
    });
    let words = sentences.flat_map(Sentence::words).filter(|word| !word.filler);
    words.map(|word| bare(&word.text)).collect()
}

/// A call in progress.
struct Call<'a> {
    session: AudioSession,
    line: Line,
    recogniser: Recogniser<'a>,
    now_ms: u64,
    speech: u64,
    /// Length of the agent's present speech in milliseconds, as far as it was synthesised.
    speech_ms: u64,
    /// Number of speeches that were dropped although the caller was silent.
    stopped_by_line: usize,
    /// Start of the caller's present sound.
    start_ms: u64,
    /// Knowledge of the session in the silences of the present turn, if it is watched.
    moments: Option<Vec<(u64, Moment)>>,
    /// Events of the session that have not been looked at, with their times.
    events: VecDeque<(u64, SessionEvent)>,
}

impl<'a> Call<'a> {
    fn new(
        conversation: &'a Conversation,
        manner: &'a Manner,
        digits: &'a [String],
        eagerness: Eagerness,
    ) -> Result<Self, CallError> {
        let caller = &conversation.caller;
        let mut session = AudioSession::new(&SessionConfig {
            format: FORMAT,
            abilities: ABILITIES,
            recogniser_rate: 8_000,
            pause: eagerness.policy(),
            record: false,
        })?;
        // As in the product, where every call does both.
        session.find_out_who_answered();
        session.allow_barge_in(true, 0);
        session.recogniser(manner.capabilities());
        let chance = |purpose: &str| Chance::new(0, &format!("{} {purpose}", conversation.id));
        let recogniser = Recogniser::new(
            manner,
            digits,
            confusions(conversation),
            caller.noise.is_any(),
            chance(manner.name),
        );
        Ok(Self {
            session,
            line: Line::new(caller, &mut chance("noise"))?,
            recogniser,
            now_ms: 0,
            speech: 0,
            speech_ms: 0,
            stopped_by_line: 0,
            start_ms: 0,
            moments: None,
            events: VecDeque::new(),
        })
    }

    /// Lets the agent ask and the caller answer. Returns what became of the caller's turn.
    fn turn(&mut self, question: &str, spoken: &Spoken, gap_ms: u64) -> Result<TurnEnd, CallError> {
        self.say(question);
        let over = self.until(LONGEST_SPEECH_MS, |event| {
            matches!(
                event,
                SessionEvent::SpeakingEnded { .. } | SessionEvent::BargedIn { .. }
            )
        })?;
        if let Some((_, SessionEvent::BargedIn { .. })) = over {
            self.stopped_by_line += 1;
        }
        self.rest(gap_ms)?;
        let start_ms = self.sound(spoken);
        let end_ms = start_ms + spoken.length_ms();
        let mut cut = None;
        while self.now_ms < end_ms + LOST_MS {
            let limit_ms = end_ms + LOST_MS - self.now_ms;
            let taken = self.until(limit_ms, |event| matches!(event, SessionEvent::UtteranceEnded(_)))?;
            let Some((at_ms, SessionEvent::UtteranceEnded(utterance))) = taken else {
                break;
            };
            if at_ms >= end_ms {
                return Ok(cut.map_or(TurnEnd::Taken(at_ms - end_ms), TurnEnd::AnsweredInto));
            }
            // Sounds before the turn, such as noise, are no turn that is answered into.
            if at_ms > start_ms && cut.is_none() {
                cut = Some(cut_at(spoken, at_ms - start_ms, utterance.text));
            }
        }
        Ok(cut.map_or(TurnEnd::Lost, TurnEnd::AnsweredInto))
    }

    /// Lets the caller make a sound from the next frame on. Returns its start.
    fn sound(&mut self, spoken: &Spoken) -> u64 {
        self.events.clear();
        self.start_ms = self.now_ms;
        if let Some(moments) = &mut self.moments {
            moments.clear();
        }
        self.line.say(&spoken.samples);
        match spoken.words.is_empty() {
            true => self
                .recogniser
                .hear_sound(self.now_ms, self.now_ms + spoken.length_ms()),
            false => self.recogniser.hear(&spoken.words, self.now_ms),
        }
        self.now_ms
    }

    /// Lets the agent say something.
    fn say(&mut self, text: &str) {
        self.events.clear();
        self.speech += 1;
        self.speech_ms = 0;
        let say = Say {
            speech: SpeechId(self.speech),
            text: text.to_owned(),
            manner: SpeechManner::default(),
            last: true,
            protected: false,
            held: false,
        };
        self.session.say(say, self.now_ms);
    }

    /// Lets time pass.
    fn rest(&mut self, ms: u64) -> Result<(), CallError> {
        self.until(ms, |_| false).map(|_| ())
    }

    /// Lets time pass until an event, or for a number of milliseconds. Returns the event with its time.
    fn until(
        &mut self,
        ms: u64,
        is_wanted: impl Fn(&SessionEvent) -> bool,
    ) -> Result<Option<(u64, SessionEvent)>, CallError> {
        let deadline_ms = self.now_ms + ms;
        loop {
            while let Some((at_ms, event)) = self.events.pop_front() {
                if is_wanted(&event) {
                    return Ok(Some((at_ms, event)));
                }
            }
            if self.now_ms >= deadline_ms {
                return Ok(None);
            }
            self.frame()?;
        }
    }

    /// Lets a frame pass.
    fn frame(&mut self) -> Result<(), CallError> {
        let (from_ms, to_ms) = (self.now_ms, self.now_ms + FRAME_MS);
        self.perform(from_ms)?;
        let frame = self.line.frame(from_ms);
        loop {
            let told = self.recogniser.next_due();
            let due = self.session.next_deadline();
            let next = [told, due].into_iter().flatten().min();
            let Some(at_ms) = next.filter(|at_ms| *at_ms < to_ms) else {
                break;
            };
            let at_ms = at_ms.max(from_ms);
            match told.is_some_and(|told| told <= at_ms) {
                true => self.recogniser.deliver(at_ms, &mut self.session),
                false => self.session.tick(at_ms),
            }
            self.perform(at_ms)?;
        }
        self.now_ms = to_ms;
        self.session.receive(&frame, to_ms);
        self.look();
        self.perform(to_ms)
    }

    /// Notes what the session knows, if the caller is silent.
    fn look(&mut self) {
        let Some(moments) = &mut self.moments else {
            return;
        };
        let moment = self.session.moment(self.now_ms);
        if let Some(moment) = moment.filter(|moment| moment.circumstances.silent_ms >= SILENT_MS) {
            moments.push((self.now_ms - self.start_ms, moment));
        }
    }

    /// Carries out what the session requests.
    fn perform(&mut self, now_ms: u64) -> Result<(), CallError> {
        while let Some(job) = self.session.next_text() {
            let (samples, words) = synthesised(&job.text)?;
            self.speech_ms += ms_of(samples.len());
            self.session.synthesized(job.generation, &samples, &words, now_ms);
            self.session.synthesis_ended(job.generation, now_ms);
        }
        while let Some(output) = self.session.poll_output() {
            match output {
                LineOutput::Audio(audio) => self.line.send(&audio),
                LineOutput::Mark(_) => {}
                LineOutput::Clear => self.line.clear(),
            }
        }
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::FinalWanted => self.recogniser.finalize(now_ms),
                event => self.events.push_back((now_ms, event)),
            }
        }
        self.session.recogniser_samples().clear();
        self.session.voice_began();
        Ok(())
    }
}

/// Describes a turn taken `at_ms` after its start.
fn cut_at(spoken: &Spoken, at_ms: u64, taken: String) -> Cut {
    let pause = spoken
        .pauses
        .iter()
        .find(|pause| (pause.from_ms..pause.to_ms).contains(&at_ms));
    Cut {
        taken,
        silent_ms: pause.map_or(0, |pause| at_ms - pause.from_ms),
        whole: pause.is_some_and(|pause| pause.whole),
        back_ms: pause.map_or(0, |pause| pause.to_ms - at_ms),
    }
}

/// Speaks a text of the agent in babble. Letters of other scripts are replaced: babble needs longer for them.
fn synthesised(text: &str) -> Result<(Vec<i16>, Vec<WordEnd>), UnsupportedRate> {
    let letter = |c: char| if c.is_ascii() { c } else { 'a' };
    let sound: String = text.chars().map(letter).collect();
    let mut speaker = Speaker::new(&sound, BabbleVoice::new(AGENT_HZ), 8_000)?;
    let ends = text
        .split_whitespace()
        .map(|word| word.as_ptr().addr() - text.as_ptr().addr() + word.len());
    let words = speaker.words().iter().zip(ends).map(|(word, text_end)| WordEnd {
        text_end,
        sample_end: word.sample_end,
    });
    let words = words.collect();
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        samples.extend(chunk);
    }
    Ok((samples, words))
}
