//! The files of `deploy/` for several nodes: they can be parsed, and agree with each other and with the service.

use std::{collections::BTreeSet, fs, path::Path};

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

use support::program::Program;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name);
    fs::read_to_string(path).unwrap()
}

/// Converts YAML to JSON, with `<<` merged in.
fn read(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Value(Scalar::Boolean(is)) => Value::from(*is),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Sequence(items) => items.iter().map(read).collect(),
        Yaml::Mapping(pairs) => {
            let (mut merged, mut own) = (Map::new(), Map::new());
            for (name, value) in pairs {
                match (read(name).as_str().unwrap(), read(value)) {
                    ("<<", Value::Object(more)) => merged.extend(more),
                    (name, value) => assert!(own.insert(name.to_owned(), value).is_none(), "{name} twice"),
                }
            }
            merged.extend(own);
            Value::Object(merged)
        }
        other => panic!("{other:?}"),
    }
}

fn compose() -> Value {
    let text = file("compose.yaml");
    let documents = Yaml::load_from_str(&text).unwrap();
    assert_eq!(documents.len(), 1);
    read(&documents[0])
}

fn nodes(compose: &Value) -> Vec<(&String, &Value)> {
    let services = compose["services"].as_object().unwrap();
    services.iter().filter(|(name, _)| name.starts_with("node")).collect()
}

#[test]
fn three_nodes_share_one_database_and_each_has_its_own_address() {
    let compose = compose();
    let nodes = nodes(&compose);
    assert_eq!(nodes.len(), 3);
    let help = Program::new().run(&["serve", "--help"]).stdout;
    let mut addresses = BTreeSet::new();
    for (name, node) in nodes {
        let settings = node["environment"].as_object().unwrap();
        for setting in settings.keys() {
            assert!(help.contains(&format!("[env: {setting}")), "{setting} is no setting");
        }
        assert_eq!(settings["RINGBACK_NODE_URL"], format!("http://{name}:8080"));
        assert_eq!(settings["RINGBACK_LISTEN"], "0.0.0.0:8080");
        assert!(
            settings["RINGBACK_PUBLIC_URL"]
                .as_str()
                .unwrap()
                .starts_with("https://")
        );
        let database = settings["DATABASE_URL"].as_str().unwrap();
        assert!(
            database.starts_with("postgres://") && database.contains("@postgres/"),
            "{database}"
        );
        assert_eq!(node["depends_on"]["postgres"]["condition"], "service_healthy");
        assert_eq!(node["volumes"], serde_json::json!(["data:/data"]));
        // Longer than the longest call may last, and than the service's own limit.
        let grace = node["stop_grace_period"].as_str().unwrap().trim_end_matches('s');
        assert!(grace.parse::<u64>().unwrap() > 14_460, "{grace}");
        addresses.insert(settings["RINGBACK_NODE_URL"].to_string());
    }
    assert_eq!(addresses.len(), 3);
}

#[test]
fn no_secret_stands_in_the_file_and_each_is_demanded() {
    let text = file("compose.yaml");
    for line in text
        .lines()
        .filter(|line| line.contains("PASSWORD") && !line.starts_with('#'))
    {
        assert!(line.contains("${POSTGRES_PASSWORD:?"), "{line}");
    }
}

#[test]
fn the_proxy_knows_all_nodes_asks_whether_they_are_ready_and_keeps_what_is_theirs() {
    let compose = compose();
    let caddy = file("compose.Caddyfile");
    let upstreams = caddy
        .lines()
        .find(|line| line.trim().starts_with("reverse_proxy"))
        .unwrap();
    let known: BTreeSet<&str> = upstreams
        .split_whitespace()
        .skip(1)
        .filter(|word| *word != "{")
        .collect();
    let nodes: Vec<String> = nodes(&compose).iter().map(|(name, _)| format!("{name}:8080")).collect();
    assert_eq!(known, nodes.iter().map(String::as_str).collect());
    for line in [
        "lb_policy round_robin",
        "health_uri /ready",
        "flush_interval -1",
        "@inside path /metrics /ready /peers/*",
        "respond @inside 404",
    ] {
        assert!(caddy.lines().any(|own| own.trim() == line), "{line}");
    }
    let depth = caddy
        .chars()
        .fold(0_i32, |depth, c| depth + i32::from(c == '{') - i32::from(c == '}'));
    assert_eq!(depth, 0, "braces");
    let mounted = compose["services"]["proxy"]["volumes"].as_array().unwrap();
    assert!(
        mounted
            .iter()
            .any(|volume| volume.as_str().unwrap().starts_with("./compose.Caddyfile:"))
    );
    assert_eq!(compose["services"]["postgres"]["healthcheck"]["test"][1], "pg_isready");
}
