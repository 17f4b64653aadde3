//! Tests of the speech cache: keeping, sharing and dropping.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use domain::ports::{
    synthesizer::{SpeechPiece, VoiceConfig, WordEnd},
    usage::Meter,
};
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;

use super::*;
use crate::failure::Failure;

fn config() -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: "ann".into(),
        language: "en".into(),
        sample_rate: 8_000,
        format: None,
        speed: 1.0,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        dictionaries: Vec::new(),
        meter: Meter::default(),
    }
}

const ON_DISK: Keep = Keep {
    place: Kept::OnDisk,
    least_samples: 0,
};
const IN_MEMORY: Keep = Keep {
    place: Kept::InMemory,
    ..ON_DISK
};

fn key(text: &str) -> Key {
    Key::new("p", "m", &config(), text)
}

fn piece(n: usize) -> SpeechPiece {
    SpeechPiece {
        samples: (0..800).map(|at| (at * n) as i16).collect(),
        words: vec![WordEnd {
            text_end: n,
            sample_end: 800 * n as u64,
        }],
    }
}

fn pieces(count: usize) -> Vec<SpeechPiece> {
    (1..=count).map(piece).collect()
}

/// Counts how often the synthesis is started.
fn start(begun: &Arc<AtomicUsize>, outcome: Vec<Result<SpeechPiece, Failure>>) -> Start {
    let begun = begun.clone();
    Box::new(move || {
        begun.fetch_add(1, Ordering::Relaxed);
        stream::iter(outcome).boxed()
    })
}

fn never() -> Start {
    Box::new(|| panic!("it is kept"))
}

async fn all(pieces: Pieces) -> Result<Vec<SpeechPiece>, Failure> {
    let items: Vec<_> = pieces.collect().await;
    items.into_iter().collect()
}

fn fine(count: usize) -> Vec<Result<SpeechPiece, Failure>> {
    pieces(count).into_iter().map(Ok).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_spoken_once_is_kept_with_its_words() {
    let cache = SpeechCache::open(None).unwrap();
    let begun = Arc::default();
    assert_eq!(
        all(cache.speak(key("a"), ON_DISK, start(&begun, fine(3)))).await,
        Ok(pieces(3))
    );
    assert_eq!(all(cache.speak(key(" a "), ON_DISK, never())).await, Ok(pieces(3)));
    assert!(cache.has(key("a")) && !cache.has(key("b")));
}

#[tokio::test(start_paused = true)]
async fn what_sounds_too_short_is_played_and_not_kept() {
    let cache = SpeechCache::open(None).unwrap();
    let begun = Arc::default();
    let silence = SpeechPiece {
        samples: vec![3; 8_000],
        words: Vec::new(),
    };
    for (least_samples, kept) in [(1_601, false), (1_600, true)] {
        let keep = Keep {
            least_samples,
            ..ON_DISK
        };
        let mut outcome = fine(2);
        outcome.push(Ok(silence.clone()));
        let spoken = all(cache.speak(key("a"), keep, start(&begun, outcome))).await;
        assert_eq!(spoken.unwrap().len(), 3);
        assert_eq!(cache.has(key("a")), kept, "{least_samples}");
    }
}

#[test]
fn all_that_shapes_the_sound_tells_speeches_apart() {
    let mut keys = vec![
        key("a"),
        key("b"),
        Key::new("q", "m", &config(), "a"),
        Key::new("p", "n", &config(), "a"),
    ];
    for change in [
        (|c: &mut VoiceConfig| c.voice = "bob".into()) as fn(&mut VoiceConfig),
        |c| c.language = "hi".into(),
        |c| c.sample_rate = 16_000,
        |c| c.speed = 1.1,
        |c| c.stability = 0.6,
        |c| c.similarity_boost = 0.9,
        |c| c.latency = 1,
        |c| (c.voice, c.language) = ("anne".into(), "n".into()),
    ] {
        let mut config = config();
        change(&mut config);
        keys.push(Key::new("p", "m", &config, "a"));
    }
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert!(keys.iter().all(|key| Key::of_name(&key.name()) == Some(*key)));
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_told_to_all_and_not_kept() {
    let cache = SpeechCache::open(None).unwrap();
    let begun = Arc::default();
    let failed = vec![Ok(piece(1)), Err(Failure::Unavailable("down".into()))];
    let one = cache.speak(key("a"), ON_DISK, start(&begun, failed));
    let two = cache.speak(key("a"), ON_DISK, never());
    assert!(all(one).await.is_err() && all(two).await.is_err());
    assert!(!cache.has(key("a")));
    assert_eq!(
        all(cache.speak(key("a"), ON_DISK, start(&begun, fine(1)))).await,
        Ok(pieces(1))
    );
    assert_eq!(begun.load(Ordering::Relaxed), 2);
}

/// Synthesis whose pieces are sent by the test. The sender notices when it is dropped.
fn by_hand() -> (mpsc::Sender<SpeechPiece>, Start) {
    let (sender, receiver) = mpsc::channel(4);
    let start = move || {
        stream::unfold(receiver, async |mut receiver| {
            let piece: SpeechPiece = receiver.recv().await?;
            Some((Ok(piece), receiver))
        })
        .boxed()
    };
    (sender, Box::new(start))
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_share_one_synthesis_and_outlive_each_other() {
    let cache = SpeechCache::open(None).unwrap();
    let (sender, start) = by_hand();
    let mut first = cache.speak(key("a"), ON_DISK, start);
    sender.send(piece(1)).await.unwrap();
    assert_eq!(first.next().await, Some(Ok(piece(1))));
    let second = cache.speak(key("a"), ON_DISK, never());
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    sender.send(piece(2)).await.unwrap();
    drop(sender);
    assert_eq!(all(second).await, Ok(pieces(2)));
    assert!(cache.has(key("a")));
}

#[tokio::test(start_paused = true)]
async fn a_synthesis_that_nobody_wants_any_more_is_dropped() {
    let cache = SpeechCache::open(None).unwrap();
    let (sender, start) = by_hand();
    let pieces = cache.speak(key("a"), ON_DISK, start);
    tokio::task::yield_now().await;
    drop(pieces);
    tokio::time::timeout(Duration::from_secs(1), sender.closed())
        .await
        .unwrap();
    tokio::task::yield_now().await;
    assert!(!cache.has(key("a")) && locked(&cache.0.flights).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_synthesis_that_panics_fails_those_who_listen() {
    let cache = SpeechCache::open(None).unwrap();
    let start: Start = Box::new(|| stream::once(async { panic!("broken") }).boxed());
    assert!(all(cache.speak(key("a"), ON_DISK, start)).await.is_err());
    assert!(locked(&cache.0.flights).is_empty());
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_the_longest_unused_goes() {
    let cache = SpeechCache::bounded(None, 13_500, 0).unwrap();
    let begun = Arc::default();
    for text in ["a", "b", "c", "d", "e"] {
        all(cache.speak(key(text), ON_DISK, start(&begun, fine(2))))
            .await
            .unwrap();
        // Used again and again, so it stays.
        all(cache.speak(key("a"), ON_DISK, never())).await.unwrap();
    }
    let kept: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .into_iter()
        .filter(|text| cache.has(key(text)))
        .collect();
    assert!(
        kept.contains(&"a") && kept.contains(&"e") && !kept.contains(&"b"),
        "{kept:?}"
    );
    assert!(locked(&cache.0.memory).get(key("a")).unwrap().bytes() * kept.len() <= 13_500);
}

/// Waits for the writing thread.
async fn until(done: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if done() {
            return;
        }
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it was not written");
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[tokio::test]
async fn a_folder_keeps_speech_for_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SpeechCache::open(Some(folder.path())).unwrap();
    let begun = Arc::default();
    all(cache.speak(key("a"), ON_DISK, start(&begun, fine(3))))
        .await
        .unwrap();
    until(|| cache.0.disk.as_ref().unwrap().has(key("a"))).await;
    let next = SpeechCache::open(Some(folder.path())).unwrap();
    assert!(!next.has(key("a")));
    assert_eq!(all(next.speak(key("a"), ON_DISK, never())).await, Ok(pieces(3)));
    assert!(next.has(key("a")), "and in memory then");
}

#[tokio::test]
async fn what_is_not_the_same_for_everybody_is_kept_in_memory_only() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SpeechCache::open(Some(folder.path())).unwrap();
    let begun = Arc::default();
    let disk = || cache.0.disk.as_ref().unwrap();
    all(cache.speak(key("Hello Maria"), IN_MEMORY, start(&begun, fine(1))))
        .await
        .unwrap();
    all(cache.speak(key("Hello Maria"), IN_MEMORY, never())).await.unwrap();
    // Files are written in order, so the first one would be there by now.
    all(cache.speak(key("Hello"), ON_DISK, start(&begun, fine(1))))
        .await
        .unwrap();
    until(|| disk().has(key("Hello"))).await;
    assert!(cache.has(key("Hello Maria")) && !disk().has(key("Hello Maria")));
    assert_eq!(files(folder.path()).len(), 1);
    // This was said before the text was known to be the same for everybody.
    all(cache.speak(key("One moment."), IN_MEMORY, start(&begun, fine(1))))
        .await
        .unwrap();
    all(cache.speak(key("One moment."), ON_DISK, never())).await.unwrap();
    until(|| disk().has(key("One moment."))).await;
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_on_the_machine_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("speech");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("0".repeat(64)).with_extension("speech"), b"of before").unwrap();
    let cache = SpeechCache::open(Some(&folder)).unwrap();
    let begun = Arc::default();
    all(cache.speak(key("a"), ON_DISK, start(&begun, fine(1))))
        .await
        .unwrap();
    until(|| cache.0.disk.as_ref().unwrap().has(key("a"))).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files = files(&folder);
    assert_eq!(
        files.len(),
        1,
        "what an older service kept of everybody is gone: {files:?}"
    );
    assert_eq!(mode(&files[0]), 0o600);
}

#[tokio::test]
async fn damaged_files_are_noticed_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SpeechCache::open(Some(folder.path())).unwrap();
    let begun = Arc::default();
    all(cache.speak(key("a"), ON_DISK, start(&begun, fine(2))))
        .await
        .unwrap();
    until(|| cache.0.disk.as_ref().unwrap().has(key("a"))).await;
    let path = files(folder.path()).remove(0);
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() / 2], &[], b"nonsense"] {
        std::fs::write(&path, damaged).unwrap();
        std::fs::write(folder.path().join("left.part"), b"x").unwrap();
        let next = SpeechCache::open(Some(folder.path())).unwrap();
        assert_eq!(
            all(next.speak(key("a"), ON_DISK, start(&begun, fine(2)))).await,
            Ok(pieces(2))
        );
        until(|| std::fs::read(&path).is_ok_and(|file| file == whole)).await;
    }
    assert_eq!(begun.load(Ordering::Relaxed), 5);
    assert_eq!(files(folder.path()).len(), 1);
}

#[tokio::test]
async fn the_folder_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SpeechCache::bounded(Some(folder.path()), MOST_MEMORY_BYTES, 10_000).unwrap();
    let begun = Arc::default();
    for n in 0..12 {
        all(cache.speak(key(&n.to_string()), ON_DISK, start(&begun, fine(2))))
            .await
            .unwrap();
        let disk = cache.0.disk.as_ref().unwrap();
        until(|| disk.has(key(&n.to_string()))).await;
    }
    let bytes = || {
        files(folder.path())
            .iter()
            .filter_map(|path| path.metadata().ok())
            .map(|m| m.len())
            .sum::<u64>()
    };
    until(|| bytes() <= 10_000).await;
    assert!(bytes() > 6_000, "{}", bytes());
    assert!(cache.0.disk.as_ref().unwrap().has(key("11")) && !cache.0.disk.as_ref().unwrap().has(key("0")));
}

#[tokio::test]
async fn people_are_forgotten_and_fixed_phrases_stay() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SpeechCache::open(Some(folder.path())).unwrap();
    let begun = Arc::default();
    for (text, keep) in [("hello ada", IN_MEMORY), ("goodbye", ON_DISK)] {
        all(cache.speak(key(text), keep, start(&begun, fine(2)))).await.unwrap();
    }
    assert!(cache.has(key("hello ada")) && cache.has(key("goodbye")));
    cache.forget_people();
    assert!(!cache.has(key("hello ada")) && cache.has(key("goodbye")));
    all(cache.speak(key("hello ada"), IN_MEMORY, start(&begun, fine(2))))
        .await
        .unwrap();
    assert_eq!(begun.load(Ordering::Relaxed), 3);
}
