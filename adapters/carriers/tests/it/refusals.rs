//! Refused dials, from a campaign over REST to the stored status of its contacts, at every carrier.

use serde_json::{Value, json};
use sim::stub_carriers::DialFault;
use support::words::interviewing_agent;

use crate::site::{COOPERATIVE, Carrier, Setup, Site};

const BUSY: [&str; 6] = [
    "+15550100016",
    "+15550100026",
    "+15550100036",
    "+15550100046",
    "+15550100056",
    "+15550100066",
];

/// A response to a dial: status and body as the carrier writes them.
type Answer = (u16, &'static str);

/// Refusals of an invalid number, of another destination, for lack of capacity, of the account, and for a reason that
/// nobody documents.
struct Refusals {
    invalid: &'static [Answer],
    destination: &'static [Answer],
    capacity: &'static [Answer],
    account: &'static [Answer],
    unknown: Answer,
}

const TWILIO: Refusals = Refusals {
    invalid: &[
        (
            400,
            r#"{"code":13224,"message":"+15550100016 is not valid","more_info":"https://www.twilio.com/docs/errors/13224","status":400}"#,
        ),
        (400, r#"{"code":21614,"message":"not a mobile number","status":400}"#),
    ],
    destination: &[
        (
            400,
            r#"{"code":21215,"message":"Account not authorized to call +15550100016. Perhaps you need to enable some international permissions","status":400}"#,
        ),
        (
            400,
            r#"{"code":21216,"message":"Account not allowed to call +15550100016","status":400}"#,
        ),
        (
            403,
            r#"{"code":13227,"message":"Geo Permission configuration is not permitting call","status":403}"#,
        ),
    ],
    capacity: &[
        (
            403,
            r#"{"code":10004,"message":"Call concurrency limit exceeded","status":403}"#,
        ),
        (429, r#"{"code":20429,"message":"Too Many Requests","status":429}"#),
    ],
    account: &[
        (400, r#"{"code":10001,"message":"Account is not active","status":400}"#),
        (
            401,
            r#"{"code":20003,"message":"Primary compliance profile is not approved","status":401}"#,
        ),
        (
            400,
            r#"{"code":21210,"message":"The source phone number provided, +15550000001, is not yet verified","status":400}"#,
        ),
    ],
    unknown: (400, r#"{"code":29999,"message":"Not today","status":400}"#),
};

const SIGNALWIRE: Refusals = Refusals {
    account: &[
        (422, r#"{"code":"4001","message":"Insufficient balance","status":422}"#),
        (
            422,
            r#"{"code":"10004","message":"The subproject ID provided cannot be found","status":422}"#,
        ),
    ],
    capacity: &[(429, r#"{"message":"slow down"}"#)],
    ..TWILIO
};

const TELNYX: Refusals = Refusals {
    invalid: &[
        (
            403,
            r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"Destination Number +15550100016 is invalid D11"}]}"#,
        ),
        (
            404,
            r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"Dialed number is not valid D14"}],"telnyx_error":{"error_code":"D14"}}"#,
        ),
    ],
    destination: &[
        (
            403,
            r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"Dialed number +15550100016 (pertinent countries: US) is not included in whitelisted countries: DE D13"}]}"#,
        ),
        (
            403,
            r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"Restricted destination number"}],"telnyx_error":{"error_code":"D58"}}"#,
        ),
    ],
    capacity: &[
        (
            403,
            r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"User channel limit exceeded D1"}]}"#,
        ),
        (
            429,
            r#"{"errors":[{"code":"90103","title":"Dials per second limit reached"}]}"#,
        ),
    ],
    account: &[
        (
            403,
            r#"{"errors":[{"code":"10010","detail":"Connection has no Outbound Profile assigned D38. Connection has no Outbound Profile assigned."}],"telnyx_error":{"error_code":"D38"}}"#,
        ),
        (
            403,
            r#"{"errors":[{"code":"20100","title":"Insufficient funds","detail":"The account has insufficient funds"}]}"#,
        ),
    ],
    unknown: (
        403,
        r#"{"errors":[{"code":"10010","title":"Authorization failed","detail":"You do not have permission"}]}"#,
    ),
};

const VONAGE: Refusals = Refusals {
    invalid: &[(
        400,
        r#"{"type":"https://developer.nexmo.com/api-errors#invalid-json","title":"Bad Request","invalid_parameters":[{"name":"to[0].number","reason":"must be a valid number"}]}"#,
    )],
    destination: &[(
        403,
        r#"{"title":"Forbidden","invalid_parameters":[{"name":"to","reason":"Destination not permitted"}]}"#,
    )],
    capacity: &[(
        429,
        r#"{"type":"https://developer.nexmo.com/api-errors#rate-limit","title":"Rate Limit Hit"}"#,
    )],
    account: &[
        (401, r#"{"type":"UNAUTHORIZED","error_title":"Unauthorized"}"#),
        (
            402,
            r#"{"type":"https://developer.nexmo.com/api-errors#low-balance","title":"Low balance"}"#,
        ),
        (
            403,
            r#"{"type":"https://developer.vonage.com/api-errors#low-balance","title":"Low balance","detail":"Your balance is low"}"#,
        ),
    ],
    unknown: (
        420,
        r#"{"type":"https://developer.nexmo.com/api-errors#odd","title":"Not today"}"#,
    ),
};

const ASTERISK: Refusals = Refusals {
    invalid: &[],
    destination: &[],
    capacity: &[(503, r#"{"message":"Shutting down"}"#)],
    account: &[
        (500, r#"{"message":"Allocation failed"}"#),
        (401, r#"{"message":"Authentication required"}"#),
    ],
    unknown: (400, r#"{"message":"Not today"}"#),
};

const CARRIERS: [(Carrier, Refusals); 5] = [
    (Carrier::Twilio, TWILIO),
    (Carrier::SignalWire, SIGNALWIRE),
    (Carrier::Telnyx, TELNYX),
    (Carrier::Vonage, VONAGE),
    (Carrier::AsteriskWebSocket, ASTERISK),
];

/// Launches a campaign whose first dials are refused so.
async fn refused(carrier: Carrier, (status, body): Answer, times: usize, contacts: &[&str]) -> (Site, String) {
    let site = Site::start(
        carrier,
        Setup {
            dials: vec![DialFault::Answer(status, body); times],
            ..Setup::one_line()
        },
    );
    let site = site.await;
    let agent = site.world.agent(interviewing_agent()).await;
    let contacts: Vec<_> = contacts.iter().map(|number| (*number, "")).collect();
    let campaign = site.world.launch(&agent, &contacts, json!({})).await;
    (site, campaign)
}

/// Returns the words with which a delayed campaign is shown.
async fn warning(site: &Site, campaign: &str) -> String {
    let path = format!("/public/v1/campaigns/{campaign}");
    site.world.client.get(&path).await.expect(200).text("/warning")
}

/// Returns the error of each contact, in order.
async fn errors(site: &Site, campaign: &str) -> Vec<Value> {
    let path = format!("/public/v1/campaigns/{campaign}/contacts");
    let contacts = site.world.client.get(&path).await.expect(200).data().clone();
    let contacts = contacts.as_array().unwrap().iter();
    contacts.map(|contact| contact["errorMessage"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_refused_destination_ends_its_contact_alone() {
    for (carrier, refusals) in CARRIERS {
        let invalid = refusals.invalid.iter().map(|answer| (answer, "invalid-number"));
        let all = invalid.chain(refusals.destination.iter().map(|answer| (answer, "carrier-error: ")));
        for (answer, error) in all {
            // More of them in a row change nothing.
            let (site, campaign) = refused(carrier, *answer, 4, &BUSY).await;
            site.world.until_status(&campaign, "completed", 60).await;
            let errors = errors(&site, &campaign).await;
            let refused = errors.iter().filter(|one| one.as_str().unwrap().starts_with(error));
            assert_eq!(refused.count(), 4, "{carrier:?} {answer:?} {errors:?}");
            assert_eq!((errors.last().unwrap(), site.stub.dials().len()), (&json!("busy"), 6));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lack_of_capacity_costs_no_contact_and_the_campaign_is_delayed() {
    for (carrier, refusals) in CARRIERS {
        for answer in refusals.capacity {
            let (site, campaign) = refused(carrier, *answer, 5, &BUSY[..2]).await;
            let delayed = site.world.until_status(&campaign, "delayed", 30).await;
            assert!(
                warning(&site, &campaign).await.contains("takes no more calls"),
                "{delayed:#}"
            );
            assert_eq!(delayed["progress"]["pending"], 2, "{carrier:?} {answer:?}");
            site.world.until_status(&campaign, "completed", 300).await;
            assert_eq!(errors(&site, &campaign).await, ["busy", "busy"]);
            assert_eq!(site.world.conversations(&campaign).await.len(), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_account_delays_the_campaign_with_the_carriers_words_until_it_is_accepted() {
    for (carrier, refusals) in CARRIERS {
        for answer in refusals.account {
            let (site, campaign) = refused(carrier, *answer, 8, &BUSY[..2]).await;
            let delayed = site.world.until_status(&campaign, "delayed", 30).await;
            let reason = warning(&site, &campaign).await;
            assert!(
                reason.starts_with("the campaign is delayed: the carrier refuses the account: "),
                "{carrier:?} {reason}"
            );
            assert!(!reason.contains("5550000001"), "{reason}");
            assert_eq!(
                (&delayed["progress"]["pending"], &delayed["active"]),
                (&json!(2), &json!(true))
            );
            site.world.until_status(&campaign, "completed", 1_200).await;
            assert_eq!(
                errors(&site, &campaign).await,
                ["busy", "busy"],
                "{carrier:?} {answer:?}"
            );
            assert_eq!(site.world.conversations(&campaign).await.len(), 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_for_an_unknown_reason_cost_a_contact_each_and_the_third_delays_the_campaign() {
    for (carrier, refusals) in CARRIERS {
        let (site, campaign) = refused(carrier, refusals.unknown, 4, &BUSY).await;
        let delayed = site.world.until_status(&campaign, "delayed", 60).await;
        let reason = warning(&site, &campaign).await;
        assert!(reason.contains("3 times in a row"), "{carrier:?} {reason}");
        assert_eq!(
            (&delayed["progress"]["failed"], site.stub.dials().len()),
            (&json!(3), 3)
        );
        site.world.pass(590).await;
        assert_eq!(site.stub.dials().len(), 3, "{carrier:?}");
        site.world.pass(20).await;
        let delayed = site.world.until_status(&campaign, "delayed", 60).await;
        assert_eq!(
            (&delayed["progress"]["failed"], site.stub.dials().len()),
            (&json!(4), 4)
        );
        site.world.until_status(&campaign, "completed", 700).await;
        let errors = errors(&site, &campaign).await;
        let refused = |one: &&Value| one.as_str().unwrap().starts_with("carrier-error: ");
        assert_eq!(errors.iter().filter(refused).count(), 4, "{carrier:?} {errors:?}");
        assert_eq!(site.stub.dials().len(), 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_carrier_asks_for_is_kept_by_the_whole_campaign() {
    let retry_after = Some(std::time::Duration::from_secs(300));
    for carrier in [Carrier::Twilio, Carrier::SignalWire, Carrier::Vonage] {
        let setup = Setup {
            dials: vec![DialFault::Throttle { retry_after }],
            ..Setup::one_line()
        };
        let site = Site::start(carrier, setup).await;
        let agent = site.world.agent(interviewing_agent()).await;
        let contacts = BUSY.map(|number| (number, ""));
        let campaign = site.world.launch(&agent, &contacts, json!({})).await;
        site.world.until_status(&campaign, "delayed", 30).await;
        site.world.pass(280).await;
        assert_eq!(site.stub.dials().len(), 1, "{carrier:?}");
        site.world.until_status(&campaign, "completed", 120).await;
        assert_eq!(site.stub.dials().len(), 7, "{carrier:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_call_is_sorted_alike() {
    for (carrier, refusals) in CARRIERS {
        let cases = [
            (refusals.invalid.first(), "invalid-number"),
            (refusals.destination.first(), "carrier-error: "),
            (
                refusals.account.first(),
                "carrier-error: the carrier refuses the account: ",
            ),
            (Some(&refusals.unknown), "carrier-error: "),
        ];
        for (answer, error) in cases {
            let Some((status, body)) = answer else { continue };
            let setup = Setup {
                dials: vec![DialFault::Answer(*status, body)],
                ..Setup::default()
            };
            let site = Site::start(carrier, setup).await;
            let call = site.call(COOPERATIVE).await;
            let over = site.world.until_over(&call, 60).await;
            let shown = over["errorMessage"].as_str().unwrap_or_default();
            assert!(shown.starts_with(error), "{carrier:?} {answer:?} {shown}");
        }
        for (status, body) in refusals.capacity {
            let setup = Setup {
                dials: vec![DialFault::Answer(*status, body); 2],
                ..Setup::default()
            };
            let site = Site::start(carrier, setup).await;
            let call = site.call(COOPERATIVE).await;
            let over = site.world.until_over(&call, 120).await;
            assert_eq!(
                (&over["status"], site.stub.dials().len()),
                (&json!("completed"), 3),
                "{carrier:?}"
            );
        }
    }
}
