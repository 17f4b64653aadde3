//! Plays a life to the call's state machine, event by event, with numeric time.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap},
    sync::LazyLock,
    time::Duration,
};

use actors::{
    audio_stream::StreamEvent,
    call::{
        CallTimer,
        machine::{Effect, Ending, Event, PermitAnswer, Rules, State},
    },
};
use domain::{
    agent::Agent,
    ports::carrier::{CallProgress, CarrierCallId, DialError},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

use super::{
    asterisk::{self, Exchange, Follows},
    life::{Cause, Fact, Kind, Life, RING_TIMEOUT_MS},
    tongue::{CALL, Heard, Tongue},
};
use carriers::asterisk::call::Happening;

/// Maximum delay of a callback.
const LATEST_MS: u64 = 35_000;
/// Time within which a report explains a dead media socket.
pub const EXPLAINED_MS: u64 = 3_000;
/// Time that the carrier needs to end a call.
const HANGS_UP_MS: u64 = 50;
/// Time after which a request without a response is given up.
const UNANSWERED_MS: u64 = 10_000;
/// Times at which a lost dial is looked up, as in the call's own task.
const LOOK_UP_MS: [u64; 4] = [15_000, 45_000, 75_000, 105_000];
/// A life is over long before this.
const HORIZON_MS: u64 = 400_000;

/// Result of the dial's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    After(u64),
    Lost,
}

/// Delivery of the reports about a life.
#[derive(Debug, Clone)]
pub struct Course {
    answer: Answer,
    /// Delay of each copy of each callback, in the order of the facts. The last list is for the results of
    /// our own hang-up.
    late_ms: Vec<Vec<u64>>,
    /// Whether the media socket names the carrier's id of the call.
    socket_names_call: bool,
    /// Period without events, after which missed changes are requested.
    deaf_ms: Option<(u64, u64)>,
}

impl Course {
    /// Returns the course with everything in order, once and at once.
    pub fn tidy() -> Self {
        Self {
            answer: Answer::After(0),
            late_ms: vec![vec![0]; 5],
            socket_names_call: true,
            deaf_ms: None,
        }
    }

    /// Returns a random course.
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
            deaf_ms: None,
        }
    }

    /// Does the same, with a period without events.
    pub fn deaf(life: &Life, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0x0000_dea1);
        let from_ms = random.random_range(0..life.decided_ms + 20_000);
        Self {
            deaf_ms: Some((from_ms, from_ms + random.random_range(1..25_000))),
            ..Self::untidy(life, seed)
        }
    }

    /// Returns the time between the death of the media socket and the first report of the end.
    pub fn first_end_after_media_ms(&self, life: &Life) -> Option<u64> {
        let facts = life.facts();
        let which = facts.iter().position(|(_, fact)| matches!(fact, Fact::Ended(_)))?;
        self.late_ms[which].iter().min().copied()
    }
}

/// An event of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// A fact becomes true at the carrier.
    Fact(usize),
    /// A callback arrives: the index of its fact, and its place in the order of facts.
    Callback(usize),
    HungUpAtCarrier,
    DialAnswer,
    LookUp(usize),
    MediaOpens,
    MediaCloses,
    OurEnd,
    StreamClosed,
    NotReopened(u32),
    Listing,
    Timer(u64),
}

/// Log of events, with times in milliseconds.
type Log = Vec<(u64, Logged)>;

/// A log entry.
#[derive(Debug, Clone, Copy)]
pub enum Logged {
    Next(#[expect(dead_code, reason = "printed where a case fails")] Next),
    Timer(#[expect(dead_code, reason = "printed where a case fails")] CallTimer),
}

/// Result of a case.
#[derive(Debug)]
pub struct End {
    pub endings: Vec<Ending>,
    pub dials: usize,
    /// Legs that still exist at the carrier at the end.
    pub legs_left: usize,
    pub said_too_early: bool,
    /// Whether a callback came before an older one.
    pub out_of_order: bool,
    /// Whether the end was seen only in a list.
    pub end_was_missed: bool,
    /// Whether the call was over before any report, even that Asterisk has it.
    pub nothing_was_heard: bool,
    pub log: Log,
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
    /// Active timers, each with the number of its queue entry.
    timers: HashMap<CallTimer, u64>,
    running: HashMap<u64, CallTimer>,
    facts: Vec<(u64, Fact)>,
    bodies: Vec<Vec<Heard>>,
    /// State of the call at an Asterisk.
    exchange: Option<Exchange>,
    /// Whether the leg is over at the carrier.
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
    // Our own hang-up cancels a ringing call and completes an answered one.
    let ours = if life.is_answered() {
        Cause::Completed
    } else {
        Cause::Canceled
    };
    facts.push((u64::MAX, Fact::Ended(ours)));
    let bodies = facts.iter().enumerate();
    let bodies = bodies.map(|(number, (_, fact))| tongue.hears(*fact, number));
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
        exchange: (tongue == Tongue::Asterisk).then(Exchange::new),
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
            end_was_missed: false,
            nothing_was_heard: false,
            log: Vec::new(),
        },
    };
    sim.perform(effects);
    while let Some(Reverse((at_ms, number, next))) = sim.queue.pop() {
        assert!(at_ms < HORIZON_MS, "{next:?} at {at_ms} ms: {:#?}", sim.end.log);
        sim.now_ms = at_ms;
        sim.comes(number, &next);
    }
    let media_left = sim.exchange.as_ref().map_or(0, Exchange::media_left);
    sim.end.legs_left = usize::from(sim.placed && !sim.over) + media_left;
    sim.end
}

impl Sim<'_> {
    fn at(&mut self, at_ms: u64, next: Next) -> u64 {
        self.queued += 1;
        self.queue.push(Reverse((at_ms, self.queued, next)));
        self.queued
    }

    fn log(&mut self, what: Logged) {
        self.end.log.push((self.now_ms, what));
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
            self.log(Logged::Next(*next));
        }
        match next {
            Next::Fact(which) => self.fact(*which),
            Next::Callback(which) => self.callback(*which),
            Next::HungUpAtCarrier if self.over => {}
            Next::HungUpAtCarrier => self.over_at_carrier(self.facts.len() - 1),
            Next::DialAnswer => self.dial_answer(),
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
            Next::Listing => self.listing(),
            Next::NotReopened(try_no) => self.apply(Event::NotReopened { try_no: *try_no }),
            Next::Timer(_) => {
                if let Some(timer) = self.running.remove(&number)
                    && self.timers.get(&timer) == Some(&number)
                {
                    self.timers.remove(&timer);
                    self.log(Logged::Timer(timer));
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

    /// Ends the leg: its media socket closes, and the end is reported.
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

    fn callback(&mut self, which: usize) {
        if self.bodies[which].is_empty() || self.is_deaf() {
            return;
        }
        let is_end = matches!(self.facts[which].1, Fact::Ended(_));
        if let Some(exchange) = &mut self.exchange
            && is_end
            && self.life.is_answered()
            && !exchange.entered
        {
            exchange.held.push(which);
            return;
        }
        self.end.out_of_order |= which < self.newest;
        self.newest = self.newest.max(which);
        for heard in self.bodies[which].clone() {
            match heard {
                Heard::Report(report) => {
                    assert_eq!(report.call, Some(leg()));
                    self.told(report.progress);
                }
                Heard::Happening(happening) => self.happens(happening),
            }
        }
        self.release();
    }

    fn is_deaf(&self) -> bool {
        let deaf = self.course.deaf_ms;
        deaf.is_some_and(|(from, to)| (from..to).contains(&self.now_ms))
    }

    /// Delivers the events that waited for the answer.
    fn release(&mut self) {
        let Some(exchange) = self.exchange.as_mut().filter(|exchange| exchange.entered) else {
            return;
        };
        for which in std::mem::take(&mut exchange.held) {
            self.callback(which);
        }
    }

    /// Handles a report as the call's actor does: the id first, then the progress.
    fn told(&mut self, progress: CallProgress) {
        self.adopt();
        self.apply(Event::Progress(progress));
    }

    /// Delivers an event to the call at an Asterisk.
    fn happens(&mut self, happening: Happening) {
        let Some(exchange) = &mut self.exchange else { return };
        for follows in exchange.takes(happening) {
            match follows {
                Follows::Told(progress) => self.told(progress),
                Follows::MediaWanted(n) => self.opens_media(n),
                Follows::HungUp => drop(self.at(self.now_ms + HANGS_UP_MS, Next::HungUpAtCarrier)),
            }
        }
    }

    /// Opens our audio when Asterisk is told to. The callee waits for it.
    fn opens_media(&mut self, n: u32) {
        if self.life.media_ms().is_none() || self.over || n > 1 {
            return;
        }
        let opens_ms = self.now_ms + self.life.media_after_ms;
        self.at(opens_ms, Next::MediaOpens);
        let ended = self.facts.len() - 2;
        self.at(opens_ms + self.life.talk_ms, Next::Fact(ended));
        if self.life.our_end_ms().is_some() {
            self.at(opens_ms + self.life.talk_ms / 2, Next::OurEnd);
        }
    }

    /// Restores the event stream.
    fn listing(&mut self) {
        let Some(exchange) = &self.exchange else { return };
        let was_over = exchange.is_over();
        let up = self
            .facts
            .iter()
            .any(|(at_ms, fact)| *fact == Fact::Answered && *at_ms <= self.now_ms);
        let listing = exchange.listing((self.placed && !self.over).then_some(up));
        self.happens(listing);
        if let Some(exchange) = &mut self.exchange {
            exchange.entered |= up && !self.over;
            self.end.end_was_missed = !was_over && exchange.is_over();
            self.end.nothing_was_heard = self.over && !exchange.is_placed();
        }
        self.release();
    }

    fn dial_answer(&mut self) {
        match self.course.answer {
            Answer::After(_) => {
                self.happens(Happening::Placed);
                self.apply(Event::Dialed(Ok(leg())));
            }
            Answer::Lost => self.apply(Event::Dialed(Err(DialError::Unknown("no answer".into())))),
        }
    }

    fn adopt(&mut self) {
        if self.state().leg().is_none() {
            self.apply(Event::Dialed(Ok(leg())));
        }
    }

    fn media_opens(&mut self) {
        if self.over || !self.state().lacks_media() {
            return;
        }
        if self.course.socket_names_call {
            self.adopt();
        }
        if self.state().lacks_media() {
            self.media = Media::Open;
            self.happens(asterisk::media_entered(1));
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
                // Without an id the leg is looked up and found.
                Effect::HangUpLeg(id) => {
                    assert!(id.is_none_or(|id| id == leg()));
                    self.happens(Happening::HangingUp);
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
        // At an Asterisk the audio starts when we request it, and its consequences come then.
        let media = self.life.media_ms().map(|(opens_ms, _)| opens_ms);
        let waits = media.is_some() && self.exchange.is_some();
        for (which, (at_ms, fact)) in self.facts.clone().into_iter().enumerate() {
            if at_ms < HORIZON_MS && !(waits && matches!(fact, Fact::Ended(_))) {
                self.at(at_ms, Next::Fact(which));
            }
        }
        if let Some(opens_ms) = media.filter(|_| !waits) {
            self.at(opens_ms, Next::MediaOpens);
        }
        if let Some(at_ms) = self.life.our_end_ms().filter(|_| !waits) {
            self.at(at_ms, Next::OurEnd);
        }
        if let Some((_, heard_again_ms)) = self.course.deaf_ms {
            self.at(heard_again_ms, Next::Listing);
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
