//! Tests of mail after calls, with a mail server in the test.

use std::sync::{Arc, Mutex};

use domain::ports::store::DeliveryState;
use integrations::deliveries::{MailConfig, Mailer, SmtpUrl};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::world::{World, until};

/// Received message: the lines of its envelope and of its content.
#[derive(Debug, Clone, Default)]
pub struct Mail {
    pub envelope: Vec<String>,
    pub lines: Vec<String>,
}

pub struct SmtpServer {
    address: String,
    mails: Arc<Mutex<Vec<Mail>>>,
    /// Answers to the end of a message; the last one is repeated.
    verdicts: Arc<Mutex<Vec<&'static str>>>,
    _tasks: JoinSet<()>,
}

impl SmtpServer {
    pub async fn start(verdicts: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (mails, verdicts) = (Arc::default(), Arc::new(Mutex::new(verdicts.to_vec())));
        let (kept, said) = (Arc::clone(&mails), Arc::clone(&verdicts));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&said)));
            }
        });
        Self {
            address,
            mails,
            verdicts,
            _tasks: tasks,
        }
    }

    pub fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap().clone()
    }
}

async fn serve(stream: TcpStream, mails: Arc<Mutex<Vec<Mail>>>, verdicts: Arc<Mutex<Vec<&'static str>>>) {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 here\r\n").await.unwrap();
    let (mut mail, mut in_data) = (Mail::default(), false);
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        let text = std::mem::take(&mut line).trim_end_matches("\r\n").to_owned();
        let answer = match (in_data, &*text) {
            (true, ".") => {
                in_data = false;
                let mut verdicts = verdicts.lock().unwrap();
                let verdict = if verdicts.len() > 1 {
                    verdicts.remove(0)
                } else {
                    verdicts[0]
                };
                mails.lock().unwrap().push(std::mem::take(&mut mail));
                verdict
            }
            (true, _) => {
                mail.lines.push(text);
                continue;
            }
            (false, "DATA") => {
                in_data = true;
                "354 go on"
            }
            (false, "QUIT") => return,
            (false, _) => {
                mail.envelope.push(text);
                "250 ok"
            }
        };
        let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
    }
}

fn mailer(address: &str) -> Mailer {
    let config = MailConfig {
        smtp_url: Some(SmtpUrl::from(&*format!("smtp://{address}"))),
        mail_from: Some("Ringback <calls@ringback.example>".into()),
    };
    config.mailer().unwrap().unwrap()
}

pub async fn world(server: &SmtpServer, configuration: serde_json::Value) -> World {
    let mut world = World::new().await;
    world
        .asks(&json!({ "postCallEmail": { "enabled": true, "emailConfiguration": configuration } }))
        .await;
    world.mail = Some(mailer);
    world.smtp_url.clone_from(&server.address);
    world.start();
    world
}

#[tokio::test]
async fn a_mail_goes_to_all_and_holds_what_was_asked_for() {
    let server = SmtpServer::start(&["250 taken"]).await;
    let configuration = json!({
        "to": ["desk@example.com", "second@example.com"], "cc": ["boss@example.com"], "subject": "{{shop}}: {{name}}\r\nBcc: x@y.z",
    });
    let mut world = world(&server, configuration).await;
    let claim = world.answered("They want <b>roses</b>.").await;
    until("mail", async || !server.mails().is_empty()).await;
    let mail = server.mails().remove(0);
    let recipients: Vec<&String> = mail.envelope.iter().filter(|line| line.starts_with("RCPT")).collect();
    assert_eq!(
        recipients,
        [
            "RCPT TO:<desk@example.com>",
            "RCPT TO:<second@example.com>",
            "RCPT TO:<boss@example.com>"
        ]
    );
    let (head, body) = mail
        .lines
        .split_at(mail.lines.iter().position(String::is_empty).unwrap());
    let delivery = world.delivery(claim.attempt).await;
    assert!(
        head.contains(&format!("Message-ID: <{}@ringback.example>", delivery.id)),
        "{head:?}"
    );
    assert!(
        head.iter().all(|line| !line.to_lowercase().starts_with("bcc")),
        "{head:?}"
    );
    let body = body.join("\n");
    assert!(
        body.contains("They want <b>roses</b>.") && body.contains("They want &lt;b&gt;roses&lt;/b&gt;."),
        "{body}"
    );
    assert!(body.contains("Ada &lt;b&gt;") && !body.contains("Transcript"), "{body}");
    until("done", async || {
        world.delivery(claim.attempt).await.state == DeliveryState::Done
    })
    .await;
}

#[tokio::test]
async fn what_the_server_does_not_take_is_tried_again_under_the_same_id() {
    let server = SmtpServer::start(&["451 later", "250 taken"]).await;
    let mut world = world(&server, json!({ "to": ["desk@example.com"] })).await;
    let attempt = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(attempt).await.failed == 1).await;
    let error = world.delivery(attempt).await.last_error.unwrap();
    assert!(error.contains("later"), "{error}");
    world.advance(5);
    until("done", async || {
        world.delivery(attempt).await.state == DeliveryState::Done
    })
    .await;
    let id = |mail: &Mail| mail.lines.iter().find(|line| line.starts_with("Message-ID")).cloned();
    let ids: Vec<_> = server.mails().iter().map(id).collect();
    assert!(ids.len() == 2 && ids[0].is_some() && ids[0] == ids[1], "{ids:?}");
    assert_eq!(server.verdicts.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_server_mail_is_kept_and_says_what_to_set() {
    let server = SmtpServer::start(&["250 taken"]).await;
    let mut world = world(&server, json!({ "to": ["desk@example.com"] })).await;
    world.stop().await;
    world.mail = None;
    world.start();
    let attempt = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(attempt).await.failed == 1).await;
    let error = world.delivery(attempt).await.last_error.unwrap();
    assert!(error.contains("RINGBACK_SMTP_URL"), "{error}");
    // Once the server is set, the mail is sent with the next try.
    world.stop().await;
    world.mail = Some(mailer);
    world.start();
    world.advance(5);
    until("mail", async || !server.mails().is_empty()).await;
}

#[tokio::test]
async fn a_subject_knows_what_a_single_call_was_given() {
    let server = SmtpServer::start(&["250 taken"]).await;
    let configuration = json!({ "to": ["desk@example.com"], "subject": "{{orderId}} of {{name}}: {{status}}" });
    let mut world = world(&server, configuration).await;
    world
        .single_call(&json!({ "orderId": "A-4711", "name": "nobody" }))
        .await;
    until("mail", async || !server.mails().is_empty()).await;
    let mail = server.mails().remove(0);
    let subject = mail.lines.iter().find(|line| line.starts_with("Subject: "));
    assert_eq!(subject.map(String::as_str), Some("Subject: A-4711 of Bo: completed"));
}

#[tokio::test]
async fn a_subject_knows_every_value_of_the_system() {
    let server = SmtpServer::start(&["250 taken"]).await;
    let subject = "{{system__time}} {{system__timezone}} {{system__called_number}} {{system__call_duration_secs}}";
    let mut world = world(&server, json!({ "to": ["desk@example.com"], "subject": subject })).await;
    world.single_call(&json!({ "system__time": "never" })).await;
    until("mail", async || !server.mails().is_empty()).await;
    let mail = server.mails().remove(0);
    let subject = mail.lines.iter().find(|line| line.starts_with("Subject: ")).unwrap();
    let expected = "Subject: 2026-01-01 00:00:00 UTC +15550000000 65";
    assert_eq!(subject, expected);
}
