//! The suite of scripted conversations through the real media route. If every word is recognised at once, the
//! result is checked word for word. If the recogniser is as late and as wrong as those in the field, no call
//! may have a fault by its scores.

use domain::ports::{language_model::Speaker, store::TurnFact};
use providers::babble::{BabbleTranscriber, imperfect::Imperfection};
use sim::scenarios::{self, Observed, Scenario, Score, Verdict};

use support::world::{World, WorldSettings};

/// Longest scripted call, dialing and ringing included.
const LONGEST_SECONDS: u64 = 300;

/// A call that stops for its own echo all the time would fill pages.
const MOST_LINES: usize = 40;

/// A finished call.
struct Run {
    scenario: Scenario,
    turns: Vec<TurnFact>,
    call: Observed,
}

/// Makes every n-th call of the suite, all at once.
async fn run(part: usize, of: usize, faults: Imperfection) -> Vec<Run> {
    let chosen: Vec<Scenario> = scenarios::all().into_iter().skip(part).step_by(of).collect();
    let world = World::start_with(WorldSettings {
        transcriber: faults.applied_to(BabbleTranscriber),
        scripts: scenarios::scripts(&chosen),
        ..WorldSettings::default()
    })
    .await;
    let mut ids = Vec::new();
    for (at, scenario) in chosen.iter().enumerate() {
        let agent = world.agent(scenario.agent()).await;
        let body = scenario.call(&agent, &scenarios::number(at));
        let made = world.client.post("/public/v1/calls", body).await;
        ids.push(made.expect(201).text("/data/conversationId"));
    }
    let mut conversations = Vec::new();
    for id in &ids {
        conversations.push(world.until_over(id, LONGEST_SECONDS).await);
    }
    // The phones write their last entries when their sockets are closed.
    world.pass(5).await;
    let entries = world.entries();
    let mut runs = Vec::new();
    for (at, scenario) in chosen.into_iter().enumerate() {
        runs.push(Run {
            turns: world.turns(&ids[at]).await,
            call: Observed::of(&entries, &scenarios::number(at), &conversations[at]),
            scenario,
        });
    }
    runs
}

/// Returns the result in order: a speech of the agent stands where it began, a turn of the user where it ended.
fn lines(run: &Run) -> Vec<String> {
    let mut lines: Vec<(i64, String)> = Vec::new();
    for turn in &run.turns {
        let (at, speaker) = match turn.speaker {
            Speaker::Agent if turn.interrupted => (turn.started_ms, "agent (cut)"),
            Speaker::Agent => (turn.started_ms, "agent"),
            Speaker::User => (turn.ended_ms, "user"),
            Speaker::Operator => (turn.ended_ms, "operator"),
        };
        lines.push((at, format!("{speaker}: {}", turn.text)));
    }
    let playout = run.call.cleared_ms.iter().map(|at| (*at, "paused"));
    let playout = playout.chain(run.call.resumed_ms.iter().map(|(at, _)| (*at, "resumed")));
    lines.extend(playout.map(|(at, what)| (i64::try_from(at).unwrap(), what.to_owned())));
    lines.sort_by_key(|(at, _)| *at);
    let mut lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    lines.truncate(MOST_LINES);
    let error = run.call.error.as_ref().map(|error| format!(": {error}"));
    lines.push(format!("ended {}{}", run.call.status, error.unwrap_or_default()));
    lines
}

async fn comes_out_word_for_word(part: usize) {
    let mut wrong = Vec::new();
    for run in run(part, 4, Imperfection::default()).await {
        let (lines, verdict) = (lines(&run), Verdict::of(&run.scenario, &run.call));
        if lines != run.scenario.expect || !verdict.faults().is_empty() {
            let want = run.scenario.expect.join("\n  ");
            wrong.push(format!(
                "{} {:?}\n- {want}\n+ {}",
                run.scenario.name,
                verdict.faults(),
                lines.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Checks that with the delays and errors of the field no call has a fault, though words differ.
async fn has_no_fault_with_an_imperfect_recogniser(part: usize) {
    let mut score = Score::default();
    let mut calls = Vec::new();
    for run in run(part, 4, Imperfection::of_the_field(1)).await {
        let verdict = Verdict::of(&run.scenario, &run.call);
        if !verdict.faults().is_empty() {
            calls.push(format!(
                "{} {:?}\n  {}\n{:?}",
                run.scenario.name,
                verdict.faults(),
                lines(&run).join("\n  "),
                run.call
            ));
        }
        score.add(&run.scenario, verdict);
    }
    assert!(score.faulty.is_empty(), "{:#}\n\n{}", score.json(), calls.join("\n\n"));
}

macro_rules! parts {
    ($($clean:ident $imperfect:ident $part:literal),*) => { $(
        #[tokio::test(start_paused = true)]
        async fn $clean() {
            comes_out_word_for_word($part).await;
        }

        #[tokio::test(start_paused = true)]
        async fn $imperfect() {
            has_no_fault_with_an_imperfect_recogniser($part).await;
        }
    )* };
}

parts!(
    a_quarter_comes_out_word_for_word a_quarter_has_no_fault_with_an_imperfect_recogniser 0,
    another_quarter_comes_out_word_for_word another_quarter_has_no_fault_with_an_imperfect_recogniser 1,
    the_third_quarter_comes_out_word_for_word the_third_quarter_has_no_fault_with_an_imperfect_recogniser 2,
    the_last_quarter_comes_out_word_for_word the_last_quarter_has_no_fault_with_an_imperfect_recogniser 3
);
