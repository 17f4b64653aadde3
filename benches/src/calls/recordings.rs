//! Recordings of a round. Each must decode and contain on its two channels exactly the words of the transcript.

use std::io::Cursor;

use media::{
    babble::{Listener, MISSING, Transcript},
    resample::HalfBandDown,
};
use serde_json::Value;

use super::{
    class::Class,
    judge::{lines, words},
};
use crate::BenchError;
use ringback::api_client::ApiClient;

/// Results of checking the recordings of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recordings {
    /// Decoded recordings.
    pub decoded: usize,
    /// Conversations whose recording is missing, does not decode, or contains other words.
    pub wrong: usize,
}

/// Fetches and checks the recording of every conversation.
pub async fn check(
    api: &ApiClient,
    conversations: &[Value],
    class_of: impl Fn(&str) -> Class,
) -> Result<Recordings, BenchError> {
    let mut found = Recordings::default();
    for conversation in conversations {
        let id = conversation["conversationId"].as_str().unwrap_or_default();
        let class = class_of(conversation["contactNumber"].as_str().unwrap_or_default());
        let path = format!("/public/v1/conversations/{id}/recording");
        let decoded = api.bytes(&path).await.map_err(BenchError::from);
        let right = match decoded.and_then(|file| Ok(channels(&file)?)) {
            Ok(channels) => {
                found.decoded += 1;
                class != Class::Cooperative || holds(&channels, conversation)
            }
            Err(error) => {
                println!("recording of {id}: {error}");
                false
            }
        };
        found.wrong += usize::from(!right);
    }
    Ok(found)
}

/// Returns the user's samples and the agent's, at 8 kHz.
fn channels(file: &[u8]) -> Result<[Vec<i16>; 2], hound::Error> {
    let mut reader = hound::WavReader::new(Cursor::new(file))?;
    let spec = reader.spec();
    if spec.channels != 2 {
        return Err(hound::Error::FormatError("not stereo"));
    }
    let mut channels = [Vec::new(), Vec::new()];
    for (n, sample) in reader.samples::<i16>().enumerate() {
        channels[n % 2].push(sample?);
    }
    if spec.sample_rate == 16_000 {
        for channel in &mut channels {
            let mut narrow = Vec::with_capacity(channel.len() / 2);
            HalfBandDown::new().process(channel, &mut narrow);
            *channel = narrow;
        }
    }
    Ok(channels)
}

/// Returns whether the channels contain the words of the transcript. The user may have said more while the
/// call was being ended.
fn holds(channels: &[Vec<i16>; 2], conversation: &Value) -> bool {
    let [user, agent] = channels.each_ref().map(|channel| understood(channel));
    let [wrote_user, wrote_agent] = ["User: ", "Agent: "].map(|speaker| words(&lines(conversation, speaker).join(" ")));
    let right = user.starts_with(&wrote_user) && agent == wrote_agent;
    if !right {
        println!("heard {user:?} and {agent:?}, written {wrote_user:?} and {wrote_agent:?}");
    }
    right
}

fn understood(samples: &[i16]) -> Vec<String> {
    let (mut listener, mut transcript, mut heard) = (Listener::new(), Transcript::default(), Vec::new());
    for piece in samples.chunks(160) {
        listener.push(piece, &mut heard);
    }
    listener.finish(&mut heard);
    let said = heard.into_iter().filter_map(|event| transcript.take(event));
    said.flat_map(|utterance| words(&utterance.text.replace(MISSING, " ")))
        .collect()
}
