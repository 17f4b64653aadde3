//! The look of the element in a browser, if one is installed.

use std::{collections::BTreeSet, env, path::PathBuf, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{process::Command, time::timeout};

use super::Site;

/// Names of a browser that writes a page as it stands after its scripts.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Longest run of the browser: a loaded machine starts it slowly.
const MOST: Duration = Duration::from_secs(120);
const PAGE: &str = include_str!("look.html");

fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let mut all = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.find(|program| program.is_file())
}

/// Opens a page with the element of each look in turn. Returns what a visitor sees of each.
async fn seen(browser: PathBuf, looks: &[Value]) -> Vec<Value> {
    let site = Site::start(0).await;
    let mut agents = Vec::new();
    for look in looks {
        agents.push(site.agent("inbound", Some(look.clone())).await);
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let text = PAGE
        .replace("SERVICE", &site.base)
        .replace("AGENTS", &json!(agents).to_string());
    std::fs::write(&page, text).unwrap();
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--virtual-time-budget=30000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .kill_on_drop(true);
    let ended = timeout(MOST, command.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    let found = text
        .split_once("<pre>")
        .and_then(|(_, found)| found.split_once("</pre>"));
    let Some((found, _)) = found else {
        panic!("the page did not finish: {}", String::from_utf8_lossy(&ended.stderr))
    };
    serde_json::from_str(found).unwrap()
}

/// Returns a look with every key of the documentation that has one effect.
fn whole_look() -> Value {
    json!({
        "variant": "compact", "placement": "top-left", "avatar": { "color1": "teal", "color2": "#9ce6e6" },
        "bgColor": "#102030", "textColor": "rgb(1, 2, 3)", "borderColor": "red", "btnColor": "hsl(120, 100%, 25%)",
        "btnTextColor": "#ff0", "focusColor": "#0f0", "borderRadius": 3, "btnRadius": 0,
        "micMutingEnabled": true, "termsText": "Calls are recorded.", "termsKey": "recording",
        "actionText": "Questions?", "startCallText": "Ring us", "endCallText": "Goodbye", "muteText": "Hush",
        "unmuteText": "Speak", "connectingText": "One moment", "listeningText": "We listen", "speakingText": "We speak",
        "endedText": "Over", "failedText": "Broken", "microphoneText": "No microphone", "acceptText": "Agreed"
    })
}

/// Checks that these facts are among those seen.
fn check(seen: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(seen.get(name).unwrap_or(&Value::Null), value, "{name}: {seen:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_key_of_a_look_has_its_effect_in_a_browser() {
    let Some(browser) = browser() else {
        println!("skipped: none of {BROWSERS:?} is on the PATH");
        return;
    };
    let looks = [
        json!({ "variant": "full" }),
        whole_look(),
        whole_look(),
        json!({ "variant": "tiny", "placement": "top", "avatar": { "url": "https://calls.example.com/ivy.png" } }),
        json!({ "micMutingEnabled": false, "placement": "bottom", "bgColor": "url(x)", "borderRadius": 101 }),
        json!({ "placement": "top-right" }),
        json!({ "placement": "bottom-left" }),
    ];
    let seen = seen(browser, &looks).await;
    let ball = |one: &str, other: &str| format!("radial-gradient(circle at 30% 30%, {one}, {other})");
    let usual = json!({
        "place": "bottom right", "direction": "column", "avatar": ball("rgb(39, 146, 220)", "rgb(156, 230, 230)"),
        "bgColor": "rgb(255, 255, 255)", "textColor": "rgb(0, 0, 0)", "borderColor": "rgb(221, 221, 221)",
        "btnColor": "rgb(0, 0, 0)", "btnTextColor": "rgb(255, 255, 255)", "focusColor": "rgb(0, 102, 204)",
        "borderRadius": "16px", "btnRadius": "20px", "termsText": null, "acceptText": null,
        "actionText": "Talk to us", "startCallText": "Call", "endCallText": "Hang up", "muteText": "Mute",
        "unmuteText": "Unmute", "connectingText": "Connecting …", "listeningText": "Listening",
        "speakingText": "Speaking", "endedText": "The call has ended.", "failedText": "The call could not be made.",
        "microphoneText": "The microphone may not be used."
    });
    check(&seen[0], &usual);
    let mut changed = whole_look().as_object().cloned().unwrap();
    for other in ["variant", "placement", "micMutingEnabled", "termsKey"] {
        changed.remove(other);
    }
    let computed = json!({
        "place": "top left", "direction": "row", "avatar": ball("rgb(0, 128, 128)", "rgb(156, 230, 230)"),
        "bgColor": "rgb(16, 32, 48)", "textColor": "rgb(1, 2, 3)", "borderColor": "rgb(255, 0, 0)",
        "btnColor": "rgb(0, 128, 0)", "btnTextColor": "rgb(255, 255, 0)", "focusColor": "rgb(0, 255, 0)",
        "borderRadius": "3px", "btnRadius": "0px"
    });
    changed.extend(computed.as_object().cloned().unwrap());
    for (name, value) in &changed {
        assert_ne!(usual[name], *value, "{name}");
    }
    check(&seen[1], &Value::Object(changed));
    // The browser remembers the acceptance of these terms.
    check(&seen[2], &json!({ "termsText": null, "connectingText": "One moment" }));
    let tiny = json!({ "place": "top middle", "actionText": null, "avatar": "https://calls.example.com/ivy.png" });
    check(&seen[3], &tiny);
    let odd =
        json!({ "place": "bottom middle", "muteText": null, "bgColor": usual["bgColor"], "borderRadius": "16px" });
    check(&seen[4], &odd);
    check(&seen[5], &json!({ "place": "top right" }));
    check(&seen[6], &json!({ "place": "bottom left" }));
}

#[test]
fn every_documented_key_of_a_look_is_tried() {
    let page = include_str!("../../../docs/widget.md");
    let (_, tables) = page.split_once("| Key of `widget` | Value |").unwrap();
    let rows = tables.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let documented: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let look: Map<String, Value> = whole_look().as_object().cloned().unwrap();
    assert_eq!(documented, look.keys().map(String::as_str).collect());
}
