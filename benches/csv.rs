//! Cost of an uploaded file of contacts before anything is saved: checking every row, then reading it again.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::{fmt::Write as _, hint::black_box};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rest::contacts_in_csv;

const ROWS: usize = 100_000;

/// Returns a file with a number, a name, an e-mail address and two further columns, one of them quoted.
fn file() -> Vec<u8> {
    let mut text = String::from("Phone,Name,Email,City,Note\n");
    for n in 0..ROWS {
        writeln!(
            text,
            "+1 (555) {:03}-{:04},Contact {n},contact{n}@example.com,Bonn,\"Prefers mornings, not {n}\"",
            n / 10_000,
            n % 10_000
        )
        .unwrap();
    }
    text.into_bytes()
}

fn csv(c: &mut Criterion) {
    let file = file();
    let mut group = c.benchmark_group("csv");
    group.sample_size(10).throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function(format!("check and read {ROWS} rows"), |b| {
        b.iter(|| assert_eq!(contacts_in_csv(black_box(&file)), Some(ROWS)));
    });
    group.finish();
}

criterion_group!(benches, csv);
criterion_main!(benches);
