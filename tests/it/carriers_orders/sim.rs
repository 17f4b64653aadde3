//! Plays a life to the call's state machine, event by event, with the time as a number.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap},
    sync::LazyLock,
    time::Duration,
};

use actors::{
    agent::Agent,
    audio_stream::StreamEvent,
    call::{
        CallTimer,
        machine::{Effect, Ending, Event, PermitAnswer, Rules, State},
    },
    ports::carrier::{CarrierCallId, DialError, LegReport},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

use super::{
    life::{Cause, Fact, Kind, Life, RING_TIMEOUT_MS},
    tongue::{CALL, Tongue},
};

/// No callback is later.
const LATEST_MS: u64 = 35_000;
/// A media socket that died is explained within this.
pub const EXPLAINED_MS: u64 = 3_000;
/// The carrier needs so long to end a call.
const HANGS_UP_MS: u64 = 50;
/// A request without an answer is given up.
const UNANSWERED_MS: u64 = 10_000;
/// When a lost dial is looked up, and how often: those of the call's own task.
const LOOK_UP_MS: [u64; 4] = [15_000, 45_000, 75_000, 105_000];
/// A life is over long before this.
const HORIZON_MS: u64 = 400_000;

/// What becomes of the dial's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    After(u64),
    Lost,
}

/// How the world treats what is said of a life.
#[derive(Debug, Clone)]
pub struct Course {
    answer: Answer,
    /// How late each copy of each callback is, in the order of the facts; the last list is for what our own hang-up
    /// brings about.
    late_ms: Vec<Vec<u64>>,
    /// The media socket tells the carrier's id of the call.
    socket_names_call: bool,
}

impl Course {
    /// All in order, once and at once.
    pub fn tidy() -> Self {
        Self {
            answer: Answer::After(0),
            late_ms: vec![vec![0]; 5],
            socket_names_call: true,
        }
    }

    /// Any other.
    pub fn untidy(life: &Life, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0x005e_ed0f_0de5);
        let answer = match random.random_range(0..10) {
            0..2 => Answer::Lost,
            2..6 => Answer::After(random.random_range(0..UNANSWERED_MS)),
            _ => Answer::After(random.random_range(0..500)),
        };
        let latest = if life.kind == Kind::Torn {
            EXPLAINED_MS * 2
        } else {
            LATEST_MS
        };
        let mut late = || match random.random_range(0..10) {
            0..3 => random.random_range(0..20),
            3..6 => random.random_range(0..1_500).min(latest),
            _ => random.random_range(0..latest),
        };
        let first: Vec<Vec<u64>> = (0..5).map(|_| vec![late()]).collect();
        let copies: Vec<u64> = (0..15).map(|_| late()).collect();
        let mut late_ms = first;
        for copy in copies {
            let which = random.random_range(0..late_ms.len() * 2);
            if let Some(list) = late_ms.get_mut(which)
                && list.len() < 4
            {
                list.push(copy);
            }
        }
        Self {
            answer,
            late_ms,
            socket_names_call: random.random_bool(0.5),
        }
    }

    /// How long after the media socket died the first report of the end comes.
    pub fn first_end_after_media_ms(&self, life: &Life) -> Option<u64> {
        let facts = life.facts();
        let which = facts.iter().position(|(_, fact)| matches!(fact, Fact::Ended(_)))?;
        self.late_ms[which].iter().min().copied()
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A fact comes true at the carrier.
    Fact(usize),
    /// A callback arrives: its fact, and its place in the order of facts.
    Callback(usize),
    HungUpAtCarrier,
    DialAnswer,
    LookUp(usize),
    MediaOpens,
    MediaCloses,
    OurEnd,
    StreamClosed,
    NotReopened(u32),
    Timer(u64),
}

/// How a case ended.
#[derive(Debug)]
pub struct End {
    pub endings: Vec<Ending>,
    pub dials: usize,
    /// Legs that live at the carrier when all is over.
    pub legs_left: usize,
    pub said_too_early: bool,
    /// A callback came before one that was older.
    pub out_of_order: bool,
    pub log: Vec<String>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let agent: Agent = serde_json::from_value(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." },
    } }))
    .unwrap();
    Rules::of(&agent, &BTreeMap::new(), Duration::from_millis(RING_TIMEOUT_MS))
});

struct Sim<'a> {
    life: &'a Life,
    course: &'a Course,
    now_ms: u64,
    machine: Option<State>,
    queue: BinaryHeap<Reverse<(u64, u64, Next)>>,
    queued: u64,
    /// The timers that run, each by the number of its entry.
    timers: HashMap<CallTimer, u64>,
    running: HashMap<u64, CallTimer>,
    facts: Vec<(u64, Fact)>,
    bodies: Vec<Option<LegReport>>,
    /// The leg is over at the carrier.
    over: bool,
    placed: bool,
    media: Media,
    seen_in_vain: u32,
    newest: usize,
    end: End,
}

#[derive(Debug, PartialEq, Eq)]
enum Media {
    Never,
    Open,
    Closed,
}

/// Plays a life on one course.
pub fn run(life: &Life, tongue: Tongue, course: &Course) -> End {
    let mut facts = life.facts();
    // Our own hang-up ends what rings as canceled, and what talks as completed.
    let ours = if life.is_answered() {
        Cause::Completed
    } else {
        Cause::Canceled
    };
    facts.push((u64::MAX, Fact::Ended(ours)));
    let bodies = facts.iter().enumerate();
    let bodies = bodies.map(|(number, (_, fact))| tongue.says(*fact, number).map(|body| tongue.read(&body)));
    let (machine, effects) = State::new(RULES.clone());
    let mut sim = Sim {
        life,
        course,
        now_ms: 0,
        machine: Some(machine),
        queue: BinaryHeap::new(),
        queued: 0,
        timers: HashMap::new(),
        running: HashMap::new(),
        bodies: bodies.collect(),
        facts,
        over: false,
        placed: false,
        media: Media::Never,
        seen_in_vain: 0,
        newest: 0,
        end: End {
            endings: Vec::new(),
            dials: 0,
            legs_left: 0,
            said_too_early: false,
            out_of_order: false,
            log: Vec::new(),
        },
    };
    sim.perform(effects);
    while let Some(Reverse((at_ms, number, next))) = sim.queue.pop() {
        assert!(at_ms < HORIZON_MS, "{next:?} at {at_ms} ms: {:#?}", sim.end.log);
        sim.now_ms = at_ms;
        sim.comes(number, &next);
    }
    sim.end.legs_left = usize::from(sim.placed && !sim.over);
    sim.end
}

impl Sim<'_> {
    fn at(&mut self, at_ms: u64, next: Next) -> u64 {
        self.queued += 1;
        self.queue.push(Reverse((at_ms, self.queued, next)));
        self.queued
    }

    fn log(&mut self, what: &str) {
        let line = format!("{} {what}", self.now_ms);
        self.end.log.push(line);
    }

    fn apply(&mut self, event: Event) {
        let machine = self.machine.take().unwrap();
        let (machine, effects) = machine.apply(event, self.now_ms);
        self.machine = Some(machine);
        self.perform(effects);
    }

    fn state(&self) -> &State {
        self.machine.as_ref().unwrap()
    }

    fn comes(&mut self, number: u64, next: &Next) {
        if !matches!(next, Next::Timer(_)) {
            self.log(&format!("{next:?}"));
        }
        match next {
            Next::Fact(which) => self.fact(*which),
            Next::Callback(which) => self.callback(*which),
            Next::HungUpAtCarrier if self.over => {}
            Next::HungUpAtCarrier => self.over_at_carrier(self.facts.len() - 1),
            Next::DialAnswer => self.apply(Event::Dialed(match self.course.answer {
                Answer::After(_) => Ok(leg()),
                Answer::Lost => Err(DialError::Unknown("no answer".into())),
            })),
            Next::LookUp(which) => self.look_up(*which),
            Next::MediaOpens => self.media_opens(),
            Next::MediaCloses if self.media != Media::Open => {}
            Next::MediaCloses => {
                self.media = Media::Closed;
                let clean = self.life.kind != Kind::Torn;
                self.apply(Event::Stream(StreamEvent::MediaClosed { clean }));
            }
            Next::StreamClosed if self.media == Media::Open => {
                self.media = Media::Closed;
                self.apply(Event::Stream(StreamEvent::MediaClosed { clean: true }));
            }
            Next::StreamClosed => {}
            Next::OurEnd => self.apply(Event::End),
            Next::NotReopened(try_no) => self.apply(Event::NotReopened { try_no: *try_no }),
            Next::Timer(_) => {
                if let Some(timer) = self.running.remove(&number)
                    && self.timers.get(&timer) == Some(&number)
                {
                    self.timers.remove(&timer);
                    self.log(&format!("{timer:?}"));
                    self.apply(Event::Timer(timer));
                }
            }
        }
    }

    fn fact(&mut self, which: usize) {
        if self.over {
            return;
        }
        if matches!(self.facts[which].1, Fact::Ended(_)) {
            self.over_at_carrier(which);
            return;
        }
        self.tell(which);
    }

    /// The leg is over: its media socket closes, and the end is told.
    fn over_at_carrier(&mut self, which: usize) {
        self.over = true;
        if self.media == Media::Open {
            self.at(self.now_ms, Next::MediaCloses);
        }
        self.tell(which);
    }

    fn tell(&mut self, which: usize) {
        for late_ms in self.course.late_ms[which.min(self.course.late_ms.len() - 1)].clone() {
            self.at(self.now_ms + late_ms, Next::Callback(which));
        }
    }

    /// As the call's actor takes a callback: the id first, then what it tells.
    fn callback(&mut self, which: usize) {
        let Some(report) = self.bodies[which].clone() else {
            return;
        };
        self.end.out_of_order |= which < self.newest;
        self.newest = self.newest.max(which);
        assert_eq!(report.call, Some(leg()));
        self.adopt();
        self.apply(Event::Progress(report.progress));
    }

    fn adopt(&mut self) {
        if self.state().leg().is_none() {
            self.apply(Event::Dialed(Ok(leg())));
        }
    }

    fn media_opens(&mut self) {
        if self.over || !self.state().takes_media() {
            return;
        }
        if self.course.socket_names_call {
            self.adopt();
        }
        if self.state().takes_media() {
            self.media = Media::Open;
            self.apply(Event::MediaOpened);
        }
    }

    fn look_up(&mut self, which: usize) {
        if self.placed && !self.over {
            self.apply(Event::Dialed(Ok(leg())));
            return;
        }
        self.seen_in_vain += 1;
        if self.seen_in_vain == 2 {
            self.apply(Event::NotPlaced);
        } else if let Some(after) = LOOK_UP_MS.get(which + 1) {
            self.at(UNANSWERED_MS + after, Next::LookUp(which + 1));
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::AskPermit => self.apply(Event::Permitted(PermitAnswer::Granted)),
                Effect::Dial => self.dial(),
                Effect::WriteUnknown => {
                    self.at(self.now_ms + LOOK_UP_MS[0], Next::LookUp(0));
                }
                Effect::WriteDialed(id) => assert_eq!(id, leg()),
                Effect::Say { .. } => self.end.said_too_early |= self.media == Media::Never,
                Effect::CloseStream => {
                    self.at(self.now_ms + 20, Next::StreamClosed);
                }
                Effect::ReopenMedia { try_no } => {
                    self.at(self.now_ms + 20, Next::NotReopened(try_no));
                }
                Effect::SetTimer(timer, after_ms) => {
                    let number = self.at(self.now_ms + after_ms, Next::Timer(0));
                    self.timers.insert(timer, number);
                    self.running.insert(number, timer);
                }
                Effect::CancelTimer(timer) => {
                    self.timers.remove(&timer);
                }
                // Without an id it is looked for, and found.
                Effect::HangUpLeg(id) => {
                    assert!(id.is_none_or(|id| id == leg()));
                    self.at(self.now_ms + HANGS_UP_MS, Next::HungUpAtCarrier);
                }
                Effect::Finish(ending) => {
                    // The actor stops its timers, too.
                    self.timers.clear();
                    self.end.endings.push(ending);
                }
                _ => {}
            }
        }
    }

    fn dial(&mut self) {
        self.end.dials += 1;
        self.placed = true;
        for (which, (at_ms, _)) in self.facts.clone().into_iter().enumerate() {
            if at_ms < HORIZON_MS {
                self.at(at_ms, Next::Fact(which));
            }
        }
        if let Some((opens_ms, _)) = self.life.media_ms() {
            self.at(opens_ms, Next::MediaOpens);
        }
        if let Some(at_ms) = self.life.our_end_ms() {
            self.at(at_ms, Next::OurEnd);
        }
        let answered_ms = match self.course.answer {
            Answer::After(ms) => ms,
            Answer::Lost => UNANSWERED_MS,
        };
        self.at(answered_ms, Next::DialAnswer);
    }
}

fn leg() -> CarrierCallId {
    CarrierCallId(CALL.to_owned())
}
