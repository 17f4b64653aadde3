//! Output of `ringback-bench turns`: the scores side by side, beside those published for pipecat, and the faults.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets::UTF8_BORDERS_ONLY};

use super::Pass;
use sim::{samples::Samples, scenarios::Verdict};

/// Figures that pipecat published of its own suite of this kind: 56 conversations, 36 of them without a
/// fault, 7 cut-offs in 157 turns, dead air of 1007 ms at the median and 3804 ms at the 95th percentile. They
/// are shown for orientation only: the conversations are not the same.
const PIPECAT: [&str; 10] = ["56", "36", "157", "7", "1007 / 3804 / –", "–", "–", "–", "–", "–"];

const FIGURES: [&str; 10] = [
    "conversations",
    "without a fault",
    "turns of the callee",
    "cut-offs",
    "dead air, ms (p50 / p95 / p99)",
    "barge-ins, missed",
    "false barge-ins",
    "false stops, resumed after ms (p50 / p95 / p99)",
    "stops for its own echo",
    "words beside what was heard, at most",
];

/// Returns the table, with each fault below it.
pub(super) fn table(passes: &[Pass]) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec![""];
    header.extend(passes.iter().map(|pass| pass.name));
    header.push("pipecat");
    table.set_header(header);
    let columns: Vec<[String; 10]> = passes.iter().map(column).collect();
    for (row, name) in FIGURES.iter().enumerate() {
        let mut cells = vec![(*name).to_owned()];
        cells.extend(columns.iter().map(|column| column[row].clone()));
        cells.push(PIPECAT[row].to_owned());
        table.add_row(cells);
    }
    let mut text = table.to_string();
    for pass in passes {
        for (name, faults) in &pass.score.faulty {
            let _ = write!(text, "\n{} {name}: {}", pass.name, faults.join(", "));
        }
    }
    text
}

fn column(pass: &Pass) -> [String; 10] {
    let score = &pass.score;
    let total: &Verdict = &score.total;
    [
        score.scenarios.to_string(),
        (score.scenarios - score.faulty.len()).to_string(),
        total.turns.to_string(),
        total.cut_offs.to_string(),
        Samples::of_ms(&total.dead_air_ms).summary(),
        format!("{}, {}", total.barge_ins, total.missed_barge_ins),
        total.false_barge_ins.to_string(),
        format!(
            "{}, {}",
            total.resume_ms.len(),
            Samples::of_ms(&total.resume_ms).summary()
        ),
        total.echo_stops.to_string(),
        total.heard_mismatch.to_string(),
    ]
}
