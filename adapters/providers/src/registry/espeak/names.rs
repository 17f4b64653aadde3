//! Check of `espeak-ng` voice names. For an unknown name the program takes the nearest voice or gives no output.

use std::{process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use super::program::{PROGRAM, is_sound, not_started};
use crate::{name::ProviderName, provider::NoVoice};

/// Time limit for the list of voices, which normally takes milliseconds.
const WITHIN: Duration = Duration::from_secs(4);

/// Maximum number of suggestions for an unknown name, and their minimum similarity (Jaro-Winkler).
const MOST_OFFERED: usize = 5;
const ALIKE: f64 = 0.7;

/// Checks that the program has the named voice.
/// The error offers similar names.
pub async fn check(name: &ProviderName) -> Result<(), NoVoice> {
    if name.model.is_some() {
        let why = format!("`{name}`: espeak has no models; write `espeak` or espeak:VOICE");
        return Err(NoVoice::Unknown(why));
    }
    let listed = listed("--voices").await?;
    let Some(voice) = &name.voice else { return Ok(()) };
    let (base, variant) = match voice.split_once('+') {
        Some((base, variant)) => (base, Some(variant)),
        None => (voice.as_str(), None),
    };
    let mut known = names(&listed);
    // MBROLA voices, which it can speak with too.
    known.extend(names(&self::listed("--voices=mb").await?));
    known.iter_mut().for_each(|name| name.make_ascii_lowercase());
    known.dedup();
    known_or_near(name, &base.to_ascii_lowercase(), &known)?;
    if let Some(variant) = variant {
        let variants = names(&self::listed("--voices=variant").await?);
        known_or_near(name, variant, &variants)?;
    }
    Ok(())
}

async fn listed(argument: &str) -> Result<String, NoVoice> {
    let mut command = Command::new(PROGRAM);
    command.arg(argument).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(WITHIN, command.output()).await;
    let output = output.map_err(|_| NoVoice::Unasked(format!("{PROGRAM} does not list its voices")))?;
    match output {
        Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => Err(NoVoice::Unasked(not_started(&error))),
    }
}

/// Returns the names in a list of voices: language, file, and the other languages of each voice.
fn names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in list.lines().skip(1) {
        let mut columns = line.split_whitespace().skip(1);
        let language = columns.next();
        let file = columns.nth(2).and_then(|file| file.rsplit('/').next());
        // Format such as `(en-gb 3)(en 5)`.
        let others = columns.filter_map(|part| part.rsplit('(').next());
        let others = others.filter(|other| other.starts_with(|c: char| c.is_ascii_alphabetic()));
        let found = language.into_iter().filter(|language| *language != "variant");
        names.extend(found.chain(file).chain(others).map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn known_or_near(name: &ProviderName, wanted: &str, known: &[String]) -> Result<(), NoVoice> {
    if is_sound(wanted) && known.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let likeness = |name: &String| strsim::jaro_winkler(wanted, name);
    let mut near: Vec<(f64, &String)> = known.iter().map(|name| (likeness(name), name)).collect();
    near.retain(|(likeness, _)| *likeness >= ALIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    let near: Vec<String> = near
        .iter()
        .take(MOST_OFFERED)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let offer = match near.is_empty() {
        true => "its voices are listed by `espeak-ng --voices`".to_owned(),
        false => format!("it has others, such as {}", near.join(", ")),
    };
    let why = format!("`{name}`: espeak-ng has no voice `{wanted}`; {offer}");
    Err(NoVoice::Unknown(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
Pty Language       Age/Gender VoiceName          File                 Other Languages
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 5  en-gb-x-rp      --/M      English_(RP)       gmw/en-GB-x-rp       (en-gb 4)(en 5)
 5  eu              --/M      Basque             eu
";

    #[test]
    fn a_voice_has_several_names_and_others_are_near() {
        let known = names(LIST);
        assert_eq!(
            known,
            ["en", "en-GB-x-rp", "en-US", "en-gb", "en-gb-x-rp", "en-us", "eu"]
        );
        let name = |voice: &str| ProviderName {
            provider: "espeak".into(),
            model: None,
            voice: Some(voice.into()),
        };
        for voice in ["en", "en-us", "en-gb", "eu"] {
            assert_eq!(known_or_near(&name(voice), voice, &known), Ok(()), "{voice}");
        }
        let why = known_or_near(&name("en-uss"), "en-uss", &known)
            .unwrap_err()
            .to_string();
        let says = "`espeak:en-uss`: espeak-ng has no voice `en-uss`; it has others, such as `en-us`, `en";
        assert!(why.starts_with(says), "{why}");
        let why = known_or_near(&name("../x"), "../x", &known).unwrap_err().to_string();
        assert!(why.contains("`espeak-ng --voices`"), "{why}");
    }

    #[test]
    fn a_variant_is_known_by_its_file() {
        let list = "Pty Language Age/Gender VoiceName File Other Languages\n 5  variant         --/M      Adam               !v/adam\n";
        assert_eq!(names(list), ["adam"]);
    }
}
