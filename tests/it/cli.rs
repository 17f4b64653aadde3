//! The commands as a user at a terminal sees them: the real binary, its output and its exit codes.

use serde_json::{Value, json};

use support::{
    client::{Client, send},
    program::{Ended, Program},
};

const EMAIL: &str = "ada@example.com";

fn create_account(program: &Program, email: &str) -> Ended {
    program.run(&["account", "create", "--email", email])
}

fn regenerate_key(program: &Program, email: &str) -> Ended {
    program.run(&["account", "regenerate-key", "--email", email])
}

fn key_in(printed: &Value) -> &str {
    printed["apiKey"].as_str().unwrap()
}

/// Returns the account of a key; `None` if the service refuses the key.
async fn whose_key(address: &str, key: &str) -> Option<String> {
    let answer = Client::new(address, key).get("/public/v1/me").await;
    match answer.status {
        401 => None,
        _ => Some(answer.expect(200).body.to_string()),
    }
}

#[test]
fn a_new_account_is_printed_once() {
    let program = Program::new();
    let printed = create_account(&program, "Ada@Example.com").json();
    let names: Vec<&String> = printed.as_object().unwrap().keys().collect();
    assert_eq!(names, ["userId", "email", "apiKey", "webhookSecret"]);
    assert_eq!(printed["email"], EMAIL);
    assert!(key_in(&printed).starts_with("rb_"), "{printed}");
    assert!(
        printed["webhookSecret"].as_str().unwrap().starts_with("whsec_"),
        "{printed}"
    );

    let again = create_account(&program, EMAIL);
    let refusal = again.refusal();
    assert!(
        refusal.contains(EMAIL) && refusal.contains("exists already"),
        "{refusal}"
    );
    assert!(refusal.contains("regenerate-key"), "the way out: {refusal}");
}

#[test]
fn a_new_key_is_made_only_in_a_database_that_is_there() {
    let program = Program::new();
    let ended = regenerate_key(&program, EMAIL);
    let file = program.path("test.db");
    assert!(
        ended
            .refusal()
            .contains(&format!("there is no file {}", file.display())),
        "{ended:?}"
    );
    assert!(!file.exists());
    create_account(&program, EMAIL).json();
    assert!(file.exists());
    regenerate_key(&program, EMAIL).json();
}

#[test]
fn what_is_no_address_is_refused() {
    let program = Program::new();
    for command in [create_account, regenerate_key] {
        let ended = command(&program, "ada at example");
        let refusal = ended.refusal();
        assert!(
            refusal.contains("`ada at example` is not an e-mail address"),
            "{refusal}"
        );
    }
    let ended = regenerate_key(&program, "eve@example.com");
    assert!(
        ended
            .refusal()
            .contains("no account with the e-mail address eve@example.com")
    );
}

#[tokio::test]
async fn a_new_key_replaces_the_old_one_under_a_running_service() {
    let program = Program::new();
    let account = create_account(&program, EMAIL).json();
    let (_service, address) = program.serve();
    let whose = whose_key(&address, key_in(&account)).await.unwrap();
    assert!(whose.contains(EMAIL), "{whose}");

    let new = regenerate_key(&program, EMAIL).json();
    assert_eq!(whose_key(&address, key_in(&account)).await, None);
    assert!(whose_key(&address, key_in(&new)).await.unwrap().contains(EMAIL));

    let second = create_account(&program, "eve@example.com").json();
    assert!(whose_key(&address, key_in(&second)).await.unwrap().contains("eve@"));
}

fn login_link(program: &Program, arguments: &[&str]) -> Ended {
    program.run(&[&["account", "login-link"], arguments].concat())
}

#[tokio::test]
async fn a_login_link_signs_a_browser_in_to_a_running_service() {
    let program = Program::new();
    let account = create_account(&program, EMAIL).json();
    let (_service, address) = program.serve();
    let listen = address.trim_start_matches("http://");
    let printed = login_link(&program, &["--listen", listen]);
    let link = printed.stdout.trim();
    let token = link
        .strip_prefix(&format!("{address}/#token="))
        .unwrap_or_else(|| panic!("{printed:?}"));
    let client = Client::new(&address, key_in(&account));
    let opens = || {
        let request = client.bare("POST", "/public/v1/session").header("origin", &address);
        send(request.json(&json!({ "token": token })))
    };
    let opened = opens().await.expect(201);
    assert_eq!(opened.data()["email"], EMAIL);
    let cookie = opened.headers["set-cookie"]
        .to_str()
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let me = client.bare("GET", "/public/v1/me").header("cookie", cookie);
    assert_eq!(send(me).await.expect(200).data()["email"], EMAIL);
    opens().await.expect(401);
    let page = client
        .bare("GET", "/calls/x")
        .header("accept", "text/html")
        .send()
        .await
        .unwrap();
    assert_eq!(page.status(), 200);
    assert!(
        page.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("script-src 'self';")
    );
    assert_eq!(client.bare("GET", "/calls/x").send().await.unwrap().status(), 404);
}

#[test]
fn a_login_link_is_for_an_account_that_is_there_and_named_if_need_be() {
    let program = Program::new();
    create_account(&program, EMAIL).json();
    let public = login_link(&program, &["--public-url", "https://calls.example.com"]).stdout;
    assert!(public.starts_with("https://calls.example.com/#token="), "{public}");
    let served = login_link(
        &program,
        &["--listen", "0.0.0.0:81", "--public-url", "http://10.0.0.5:81"],
    )
    .stdout;
    assert!(served.starts_with("http://127.0.0.1:81/#token="), "{served}");
    create_account(&program, "eve@example.com").json();
    for (arguments, refusal) in [
        (&[][..], "login-link EMAIL"),
        (
            &["bob@example.com"],
            "no account with the e-mail address bob@example.com",
        ),
        (&["bob"], "not an e-mail address"),
    ] {
        let ended = login_link(&program, arguments);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(refusal), "{ended:?}");
    }
    assert!(login_link(&program, &["Eve@Example.com"]).stdout.contains("/#token="));
}

#[tokio::test]
async fn a_second_service_on_the_same_database_is_refused() {
    let program = Program::new();
    let account = create_account(&program, EMAIL).json();
    let (_service, address) = program.serve();
    let second = program.run(&["serve"]);
    let refusal = second.refusal();
    assert!(refusal.contains("test.db is in use by another process"), "{refusal}");
    assert!(
        whose_key(&address, key_in(&account)).await.is_some(),
        "the first goes on"
    );
}

#[tokio::test]
async fn sigterm_ends_the_service_in_good_order() {
    let program = Program::new();
    let account = create_account(&program, EMAIL).json();
    for signal in ["TERM", "INT"] {
        // The second round also shows that the first left the database free.
        let (service, address) = program.serve();
        assert!(whose_key(&address, key_in(&account)).await.is_some());
        service.signal(signal);
        let ended = service.end();
        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
    }
}

#[test]
fn a_bad_setting_is_named() {
    let program = Program::new();
    let folder = program.path("");
    let not_a_file = format!("sqlite://{}", folder.display());
    for (variable, value, flag) in [
        ("DATABASE_URL", "mysql://localhost/ringback", "--database-url"),
        (
            "DATABASE_URL",
            "postgres://localhost/ringback?sslmod=require",
            "--database-url",
        ),
        ("DATABASE_URL", "sqlite://", "--database-url"),
        ("DATABASE_URL", "sqlite:", "--database-url"),
        ("DATABASE_URL", "sqlite://?mode=rwc", "--database-url"),
        ("DATABASE_URL", &not_a_file, "DATABASE_URL"),
        ("RINGBACK_LISTEN", "localhost", "--listen"),
        // An address for documentation: no machine has it.
        ("RINGBACK_LISTEN", "192.0.2.1:80", "RINGBACK_LISTEN"),
        ("RINGBACK_PUBLIC_URL", "calls.example.com", "--public-url"),
        ("RINGBACK_PUBLIC_URL", "http://[bad", "--public-url"),
        ("RINGBACK_PUBLIC_URL", "http://:80", "--public-url"),
        ("RINGBACK_PUBLIC_URL", "https://calls.example.com/?x=1", "--public-url"),
        ("RINGBACK_SIMULATED_URL", "http://[bad", "--simulated-url"),
        ("RINGBACK_MAX_CALLS", "0", "--max-calls"),
        ("RINGBACK_CALLS_PER_SECOND", "-1", "--calls-per-second"),
        ("RINGBACK_ALLOW_PRIVATE_URLS", "maybe", "--allow-private-urls"),
    ] {
        let ended = program.run_with(&["serve"], &[(variable, value)]);
        let refusal = ended.refusal();
        assert!(refusal.contains(flag), "{variable}={value}: {refusal}");
        assert!(refusal.contains(value), "{variable}={value}: {refusal}");
    }
}

#[test]
fn a_bad_value_is_refused_with_what_to_write() {
    let program = Program::new();
    let range = "write a whole number from 1 to 100000";
    let cases: [(&[&str], &str); 16] = [
        (&["serve", "--listen", "8080"], "write IP:PORT, such as 127.0.0.1:8080"),
        (&["serve", "--listen", ":8080"], "write IP:PORT"),
        (&["serve", "--listen", "localhost:8080"], "write IP:PORT"),
        (&["serve", "--max-calls", "lots"], range),
        (&["serve", "--max-calls", "0"], range),
        (&["serve", "--max-calls", "-1"], range),
        (&["serve", "--drain-seconds", "5m"], "from 0 to 604800"),
        (&["serve", "--calls-per-second", "-1"], "write a number from 0 to 10000"),
        (&["serve", "--keep-recordings-days", "0"], "from 1 to 36500"),
        (&["serve", "--babble-punctuation", "maybe"], "write true or false"),
        (&["--workers", "0", "openapi"], "from 1 to 1024"),
        (&["demo", "--contacts", "17"], "from 1 to 16"),
        (&["phones", "--max-calls", "0"], "write a whole number, 1 or more"),
        (
            &["serve", "--simulated-url", "127.0.0.1:9000"],
            "such as http://127.0.0.1:9000",
        ),
        (
            &["serve", "--dead-after-ms", "1000"],
            "RINGBACK_DEAD_AFTER_MS is 1000: set it to at least 15000 (3 × RINGBACK_SEND_WITHIN_MS)",
        ),
        (&["serve", "--llm", "gpt-4.1"], "known here: interviewer, openai"),
    ];
    for (arguments, way_out) in cases {
        let ended = program.run(arguments);
        let refusal = ended.refusal();
        assert!(refusal.contains(way_out), "{arguments:?}: {refusal}");
    }
    for (setting, value, named) in [
        (
            "RINGBACK_STT",
            "deepgramm",
            "did you mean `deepgram`? known here: babble, ",
        ),
        ("RINGBACK_TTS", "espeakk", "did you mean `espeak`? known here: babble, "),
        (
            "RINGBACK_STT",
            "anthropic",
            "has no speech to text; known here: babble, ",
        ),
        ("RINGBACK_ALLOW_PRIVATE_URLS", "maybe", "write true or false"),
    ] {
        let ended = program.run_with(&["serve"], &[(setting, value)]);
        let refusal = ended.refusal();
        assert!(refusal.contains(setting) && refusal.contains(named), "{refusal}");
    }
}

#[test]
fn a_file_that_is_no_database_and_a_port_in_use_are_told_with_the_way_out() {
    let program = Program::new();
    let file = program.path("notes.txt");
    std::fs::write(&file, "no database\n".repeat(100)).unwrap();
    let url = format!("sqlite://{}", file.display());
    let ended = program.run_with(&["serve"], &[("DATABASE_URL", &url)]);
    let refusal = ended.refusal();
    assert!(refusal.contains("notes.txt is not an SQLite database"), "{refusal}");

    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let ended = program.run(&["serve", "--listen", &taken]);
    let refusal = ended.refusal();
    assert!(refusal.contains("or set RINGBACK_LISTEN to another port"), "{refusal}");
}

#[test]
fn the_password_of_a_database_is_shown_by_nothing() {
    let program = Program::new();
    for (url, shown) in [
        (
            "postgres://ada:hidden@127.0.0.1:1/ringback",
            "postgres://ada:***@127.0.0.1:1/ringback",
        ),
        ("mysql://ada:hidden@localhost/x", "mysql://ada:***@localhost/x"),
        ("postgres://ada:hid#den@localhost/x", "postgres://…"),
    ] {
        for arguments in [&["serve"][..], &["account", "create", "--email", EMAIL]] {
            let settings = [
                ("DATABASE_URL", url),
                ("RUST_LOG", "trace"),
                ("RINGBACK_START_WAIT_SECONDS", "1"),
            ];
            let ended = program.run_with(arguments, &settings);
            let printed = format!("{}{}", ended.stdout, ended.stderr);
            assert!(printed.contains(shown), "{printed}");
            assert!(!printed.contains("hid"), "{printed}");
        }
        let help = program.run_with(&["serve", "--help"], &[("DATABASE_URL", url)]);
        assert!(!help.stdout.contains("hid"), "{help:?}");
    }
}

#[test]
fn a_demo_of_a_bad_file_shows_every_bad_row() {
    let program = Program::new();
    let csv = "phone,name\n123,Bob\n+15550100010,Maria\n,Nobody\n";
    std::fs::write(program.path("bad.csv"), csv).unwrap();
    let ended = program.run(&["demo", "--csv", "bad.csv"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let (_, report) = ended.stderr.split_once("\n{").unwrap();
    let report: Value = serde_json::from_str(&format!("{{{report}")).unwrap();
    assert_eq!((&report["totalRows"], &report["invalidRows"]), (&3.into(), &2.into()));
    let rows = report["rows"].as_array().unwrap();
    let shown: Vec<(&Value, &Value)> = rows.iter().map(|row| (&row["line"], &row["code"])).collect();
    assert_eq!(
        shown,
        [
            (&2.into(), &"invalid_phone".into()),
            (&4.into(), &"missing_phone".into())
        ]
    );
}

#[test]
fn a_demo_of_a_missing_file_says_so() {
    let program = Program::new();
    let ended = program.run(&["demo", "--csv", "missing.csv"]);
    let refusal = ended.refusal();
    assert!(refusal.contains("cannot read missing.csv"), "{refusal}");
}

#[test]
fn help_lists_the_commands() {
    let program = Program::new();
    let ended = program.run(&["--help"]);
    assert_eq!(ended.code, Some(0));
    let (_, commands) = ended.stdout.split_once("Commands:").unwrap();
    for command in ["serve", "demo", "phones", "account"] {
        let listed = commands.lines().any(|line| line.trim_start().starts_with(command));
        assert!(listed, "{command}: {commands}");
    }
    let unknown = program.run(&["call"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn bench_says_that_it_is_a_program_of_its_own() {
    let program = Program::new();
    for arguments in [
        &["bench"][..],
        &["bench", "calls", "--calls", "3"],
        &["bench", "--help"],
    ] {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.refusal().contains("`ringback-bench`"), "{ended:?}");
    }
}

#[test]
fn a_setting_out_of_its_range_is_refused_by_name() {
    let program = Program::new();
    let cases: [(&[&str], &str); 6] = [
        (&["serve", "--drain-seconds", "18446744073709551615"], "--drain-seconds"),
        (&["phones", "--max-calls", "0"], "--max-calls"),
        (&["phones", "--line-noise-dbfs", "NaN"], "--line-noise-dbfs"),
        (&["phones", "--line-noise-dbfs", "inf"], "--line-noise-dbfs"),
        (&["phones", "--line-noise-dbfs", "50"], "--line-noise-dbfs"),
        (&["phones", "--line-noise-dbfs", "-120.5"], "--line-noise-dbfs"),
    ];
    for (arguments, setting) in cases {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(setting), "{ended:?}");
    }
}
