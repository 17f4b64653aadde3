//! Order, speed and slack of load shedding.

use proptest::prelude::*;

use super::*;

const TICK: Duration = Duration::from_millis(250);

fn busy(cpu: f64) -> Sample {
    Sample {
        cpu: Some(cpu),
        ..Sample::default()
    }
}

fn after(admission: &mut Admission, sample: Sample, seconds: f64) -> Level {
    for _ in 0..(seconds / TICK.as_secs_f64()).round() as usize {
        admission.observe(sample, TICK);
    }
    admission.level()
}

#[test]
fn work_is_given_up_in_order_and_live_calls_never() {
    for (at, work) in Work::ALL.into_iter().enumerate() {
        let level = Level::of(at as u8 + 1);
        assert_eq!(work.given_up_at(), level);
        assert!(level.gives_up(work) && !Level::of(at as u8).gives_up(work), "{work:?}");
    }
    let mut admission = Admission::new(Limits::default());
    let mut seen = vec![Level::Calm];
    for _ in 0..100 {
        admission.observe(busy(1.0), TICK);
        if seen.last() != Some(&admission.level()) {
            seen.push(admission.level());
        }
    }
    assert_eq!(seen, Level::ALL);
}

#[test]
fn a_node_that_cannot_be_busier_dials_nobody_within_seven_seconds_and_is_back_within_five() {
    let mut admission = Admission::new(Limits::default());
    assert!(after(&mut admission, busy(1.0), 3.0) >= Level::NoAnalysis);
    assert!(after(&mut admission, busy(1.0), 4.0) >= Level::NoDials);
    assert_eq!(after(&mut admission, busy(1.0), 10.0), Level::NoInbound);
    assert_eq!(after(&mut admission, busy(0.1), 5.0), Level::Calm);
}

#[test]
fn every_figure_counts_by_itself_and_one_that_is_absent_is_well() {
    let full = Sample {
        memory: Some(0.95),
        ..Sample::default()
    };
    let slow = Sample {
        lag: Duration::from_secs(4),
        ..Sample::default()
    };
    for sample in [busy(1.0), full, slow] {
        let mut admission = Admission::new(Limits::default());
        assert_eq!(after(&mut admission, sample, 12.0), Level::NoInbound, "{sample:?}");
        assert_eq!(after(&mut admission, Sample::default(), 5.0), Level::Calm);
    }
    let unlimited = Limits {
        cpu: 1.0,
        memory: 1.0,
        lag: Duration::MAX,
    };
    let mut admission = Admission::new(unlimited);
    let all = Sample {
        cpu: Some(1.0),
        memory: Some(1.0),
        lag: Duration::from_secs(3600),
    };
    assert_eq!(after(&mut admission, all, 60.0), Level::Calm);
}

#[test]
fn between_its_limits_a_node_takes_up_work_again_slowly() {
    let mut admission = Admission::new(Limits::default());
    assert_eq!(after(&mut admission, busy(0.8), 60.0), Level::Calm);
    after(&mut admission, busy(1.0), 5.0);
    after(&mut admission, busy(0.8), 2.0);
    let pressure = admission.pressure();
    after(&mut admission, busy(0.8), 5.0);
    let fallen = pressure - admission.pressure();
    assert!((fallen - 0.5).abs() < 0.05, "{fallen}");
    // Pressure from a database failure does not persist because other processes use much memory.
    after(&mut admission, busy(0.8), 80.0);
    assert_eq!(admission.level(), Level::Calm);
}

#[test]
fn a_short_burst_costs_nothing() {
    let mut admission = Admission::new(Limits::default());
    after(&mut admission, busy(0.3), 5.0);
    assert_eq!(after(&mut admission, busy(1.0), 1.0), Level::Calm);
}

fn gate_at(pressure: f64) -> Gate {
    let mut admission = Admission::new(Limits::default());
    admission.pressure = pressure;
    admission.settle();
    let gate = Gate::default();
    gate.set(&admission);
    gate
}

#[test]
fn at_the_limit_a_share_of_the_requests_is_refused() {
    let gate = gate_at(3.25);
    let taken = |work| (0..1_000).filter(|_| gate.admits(work)).count();
    assert_eq!(taken(Work::Lists), 0);
    assert_eq!(taken(Work::Reads), 750);
    assert_eq!(taken(Work::Writes), 1_000);
    assert!(gate.holds(Work::Deliveries) && !gate.holds(Work::Reads));
}

proptest! {
    /// For any measurements: levels change one by one, and a lower kind of work is never given up after a higher one.
    #[test]
    fn the_level_follows_the_pressure(samples in prop::collection::vec((0.0..1.2f64, 0.0..1.0f64, 0u64..10_000), 1..200)) {
        let mut admission = Admission::new(Limits::default());
        for (cpu, memory, lag) in samples {
            let before = admission.level().figure();
            let sample = Sample { cpu: Some(cpu), memory: Some(memory), lag: Duration::from_millis(lag) };
            admission.observe(sample, TICK);
            let after = admission.level().figure();
            prop_assert!(before.abs_diff(after) <= 1);
            prop_assert!((admission.pressure() - f64::from(after)).abs() <= 1.0);
            let gate = Gate::default();
            gate.set(&admission);
            for pair in Work::ALL.windows(2) {
                prop_assert!(gate.holds(pair[0]) || !gate.holds(pair[1]));
                let refused = |work: Work| (admission.pressure() - work.stands()).clamp(0.0, 1.0);
                prop_assert!(refused(pair[0]) >= refused(pair[1]));
            }
        }
    }
}
