//! Tests of the variables and the caller ID of a planned call.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;
use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    ports::{
        carrier::{CarrierAbilities, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall},
        store::{CampaignContact, Claim},
    },
    template::CALLER_NUMBER,
};

/// A carrier that has a name only. `plain` accepts inbound calls and cannot dial.
struct Named(&'static str);

#[async_trait]
impl Carrier for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn dials(&self) -> bool {
        self.0 != "plain"
    }

    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities {
            refer: self.0 == "twilio",
            ..CarrierAbilities::default()
        }
    }

    async fn dial(&self, _: &DialRequest) -> Result<CarrierCallId, DialError> {
        Err(DialError::Rejected("only a name".to_owned()))
    }

    async fn hang_up(&self, _: &CarrierCallId) -> Result<(), CarrierError> {
        Err(CarrierError::NotFound)
    }

    async fn find_calls(&self, _: &PhoneNumber, _: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        Ok(Vec::new())
    }
}

fn attempt(extra: &Value) -> ClaimedAttempt {
    ClaimedAttempt {
        claim: Claim {
            attempt: AttemptId::new(),
            owner: NodeId::new(),
            epoch: 1,
        },
        account: AccountId::new(),
        campaign: Some(CampaignId::new()),
        agent: AgentId::new(),
        contact_index: 0,
        variables: Default::default(),
        attempt_no: 1,
        tries: Default::default(),
        contact: CampaignContact {
            phone_number: PhoneNumber::parse("+15551234567").unwrap(),
            contact: None,
            name: Some("Ada".into()),
            email: None,
            extra: extra.as_object().cloned().unwrap_or_default(),
        },
        saved_extra: Default::default(),
    }
}

fn context(agent: Value) -> PlanContext {
    PlanContext {
        agent: Arc::new(serde_json::from_value(agent).unwrap()),
        agent_version: None,
        ring_timeout: Duration::from_secs(30),
        now: Timestamp(1_767_614_400_000_000),
    }
}

fn carriers() -> Carriers {
    let others: Vec<Arc<dyn Carrier>> = vec![Arc::new(Named("twilio")), Arc::new(Named("plain"))];
    Carriers::new(Arc::new(Named("simulated")), others)
}

/// Plans the call of an agent that has a line.
fn planned(attempt: ClaimedAttempt, context: &PlanContext) -> CallPlan {
    let carriers = carriers();
    plan(attempt, line(&context.agent, &carriers).unwrap(), context)
}

#[test]
fn the_contacts_fields_win_over_the_agents_and_the_systems_over_both() {
    let context = context(json!({ "conversationConfig": { "agent": {
        "prompt": { "timezone": "Asia/Kolkata" },
        "dynamicVariables": { "city": "Pune", "plan": "basic", "tries": 3, "vip": true, "system__time": "never" },
    } } }));
    let plan = planned(
        attempt(&json!({ "city": "Delhi", "name": "overridden", "note": null })),
        &context,
    );
    let value = |name: &str| plan.variables.get(name).map(String::as_str);
    assert_eq!(value("city"), Some("Delhi"));
    assert_eq!(value("plan"), Some("basic"));
    assert_eq!(value("tries"), Some("3"));
    assert_eq!(value("vip"), Some("true"));
    assert_eq!(value("note"), Some(""));
    assert_eq!(value("name"), Some("Ada"));
    assert_eq!(value("phoneNumber"), Some("+15551234567"));
    assert_eq!(value("email"), None);
    assert_eq!(value("system__time"), Some("2026-01-05 17:30:00"));
    assert_eq!(value("system__timezone"), Some("Asia/Kolkata"));
    assert_eq!(value("system__called_number"), Some("+15551234567"));
    assert_eq!(
        value("system__conversation_id"),
        Some(plan.attempt.claim.attempt.to_string().as_str())
    );
}

#[test]
fn the_saved_contacts_fields_stand_between_the_campaigns_and_the_agents() {
    let context = context(json!({ "conversationConfig": { "agent": {
        "dynamicVariables": { "city": "Pune", "plan": "basic", "shop": "Ada's" },
    } } }));
    let mut attempt = attempt(&json!({ "city": "Delhi" }));
    let saved = json!({ "city": "Bonn", "plan": "gold", "pets": 2, "name": "Eve", "phoneNumber": "1" });
    attempt.saved_extra = saved.as_object().cloned().unwrap();
    let plan = planned(attempt, &context);
    let value = |name: &str| plan.variables.get(name).map(String::as_str);
    assert_eq!(value("city"), Some("Delhi"));
    assert_eq!(value("plan"), Some("gold"));
    assert_eq!(value("shop"), Some("Ada's"));
    assert_eq!(value("pets"), Some("2"));
    assert_eq!(value("name"), Some("Ada"));
    assert_eq!(value("phoneNumber"), Some("+15551234567"));
}

#[test]
fn a_single_calls_values_win_over_the_saved_contacts_and_the_agents() {
    let context = context(json!({ "conversationConfig": { "agent": {
        "dynamicVariables": { "city": "Pune", "plan": "basic", "shop": "Ada's" },
    } } }));
    let mut attempt = attempt(&json!({}));
    attempt.saved_extra = json!({ "city": "Bonn" }).as_object().cloned().unwrap();
    let given = json!({ "city": "Delhi", "plan": "gold", "vip": true, "name": "Eve", "system__timezone": "x" });
    attempt.variables = given.as_object().cloned().unwrap();
    let plan = planned(attempt, &context);
    let value = |name: &str| plan.variables.get(name).map(String::as_str);
    assert_eq!(value("city"), Some("Delhi"));
    assert_eq!(value("plan"), Some("gold"));
    assert_eq!(value("shop"), Some("Ada's"));
    assert_eq!(value("vip"), Some("true"));
    assert_eq!(value("name"), Some("Ada"));
    assert_eq!(value("system__timezone"), Some("UTC"));
}

#[test]
fn caller_ids_take_turns_when_rotation_is_enabled_and_has_numbers() {
    let with = |telephony: Value| {
        let own = json!([{ "provider": "simulated", "number": "+15550000001" }]);
        let agent = json!({ "phoneNumbers": own, "platformSettings": { "telephony": telephony } });
        planned(attempt(&json!({})), &context(agent))
    };
    let two = json!(["+15550000005", "+15550000006"]);
    let on = with(json!({ "numberRotationEnabled": true, "rotationNumbers": two, "callsPerNumber": 3 }));
    let Some(CallerId::InTurn(rotation)) = &on.caller_id else {
        panic!("{:?}", on.caller_id);
    };
    assert_eq!((rotation.numbers.len(), rotation.calls_each), (2, 3));
    let shown = |permit| {
        on.caller_id
            .as_ref()
            .and_then(|caller| caller.of_permit(permit))
            .unwrap()
            .as_str()
    };
    assert_eq!(
        [0, 2, 3, 5, 6].map(shown),
        [
            "+15550000005",
            "+15550000005",
            "+15550000006",
            "+15550000006",
            "+15550000005"
        ]
    );
    // The first number of the rotation is assumed until the permit names one.
    assert_eq!(
        on.variables.get(CALLER_NUMBER).map(String::as_str),
        Some("+15550000005")
    );

    let each = with(json!({ "numberRotationEnabled": true, "rotationNumbers": two }));
    assert!(matches!(
        each.caller_id,
        Some(CallerId::InTurn(Rotation { calls_each: 1, .. }))
    ));
    for off in [
        json!({ "rotationNumbers": two }),
        json!({ "numberRotationEnabled": true }),
    ] {
        let own = CallerId::Fixed(PhoneNumber::parse("+15550000001").unwrap());
        assert_eq!(with(off).caller_id, Some(own));
    }
}

#[test]
fn the_agents_number_chooses_carrier_and_caller_id() {
    let goes_out = |numbers: Value| {
        let call = planned(attempt(&json!({})), &context(json!({ "phoneNumbers": numbers })));
        let shown = call.caller_id.as_ref().and_then(|caller| caller.of_permit(0));
        (call.carrier.name(), shown.map(|number| number.as_str().to_owned()))
    };
    let number = |provider: &str, number: &str| json!({ "provider": provider, "number": number });
    let (here, there) = (number("simulated", "+15550000001"), number("twilio", "+15550000002"));
    let elsewhere = number("telnyx", "+15550000003");
    let shown = |number: &str| Some(number.to_owned());
    assert_eq!(goes_out(json!([])), ("simulated", None));
    assert_eq!(goes_out(json!([there, here])), ("twilio", shown("+15550000002")));
    assert_eq!(
        goes_out(json!([elsewhere, here, there])),
        ("simulated", shown("+15550000001"))
    );
    let inbound = number("plain", "+15550000005");
    assert_eq!(
        goes_out(json!([inbound])),
        ("simulated", None),
        "for calls from outside"
    );
    assert_eq!(goes_out(json!([inbound, there])), ("twilio", shown("+15550000002")));
    assert_eq!(goes_out(json!([{ "number": "+15550000004" }])), ("simulated", None));
    assert_eq!(
        goes_out(json!([number("simulated", "x")])),
        ("simulated", None),
        "no number"
    );
}

#[test]
fn an_agent_whose_numbers_are_elsewhere_goes_out_nowhere() {
    for numbers in [
        json!([{ "provider": "telnyx", "number": "+15550000003" }]),
        json!([{ "provider": "plain", "number": "+15550000005" }, { "provider": "telnyx", "number": "+15550000003" }]),
        json!([{ "number": "+15550000004" }, { "provider": "telnyx", "number": "+15550000003" }]),
    ] {
        let context = context(json!({ "phoneNumbers": numbers }));
        let carriers = carriers();
        let none = line(&context.agent, &carriers).map(|carrier| carrier.name());
        let provider = "telnyx".to_owned();
        assert_eq!(none, Err(NoLine { provider }), "{numbers}");
    }
}

#[test]
fn transfers_are_offered_where_the_carrier_makes_them() {
    let to = |kind: &str, number: &str| {
        let destination = json!({ "type": "phone", "phoneNumber": number });
        json!({ "transferType": kind, "transferDestination": destination })
    };
    let transfers = json!([to("blind", "+15550000008"), to("sip_refer", "+15550000009")]);
    let tools = json!({ "transferToNumber": { "enabled": true, "transfers": transfers } });
    let agent = json!({ "conversationConfig": { "agent": { "prompt": { "builtInTools": tools } } } });
    let context = context(agent);
    for (carrier, offered) in [("twilio", 2), ("simulated", 1), ("plain", 0)] {
        let carrier: Arc<dyn Carrier> = Arc::new(Named(carrier));
        let call = plan(attempt(&json!({})), &carrier, &context);
        let prompt = &call.agent.conversation_config.agent.prompt;
        let usable = prompt.built_in_tools.transfer_to_number.usable();
        assert_eq!(usable.len(), offered, "{}", carrier.name());
    }
}

#[test]
fn a_call_from_outside_is_planned_with_the_caller_as_the_caller() {
    let context = context(json!({ "phoneNumbers": [{ "provider": "twilio", "number": "+15550000001" }] }));
    let twilio: Arc<dyn Carrier> = Arc::new(Named("twilio"));
    let ours = PhoneNumber::parse("+15550000001").unwrap();
    for (from, shown) in [(PhoneNumber::parse("+15551234567").ok(), "+15551234567"), (None, "")] {
        let call = InboundCall {
            carrier: "twilio",
            call: CarrierCallId("CA1".to_owned()),
            from: from.clone(),
            to: ours.clone(),
        };
        let mut attempt = attempt(&json!({}));
        attempt.campaign = None;
        attempt.contact.phone_number = from.unwrap_or_else(PhoneNumber::withheld);
        attempt.saved_extra = json!({ "city": "Pune" }).as_object().cloned().unwrap();
        let token = domain::dial_token::DialToken::random();
        let plan = plan_inbound(
            ReceivedCall {
                attempt,
                token: token.clone(),
                test: None,
            },
            (&twilio, &call),
            &context,
        );
        let value = |name: &str| plan.variables.get(name).map(String::as_str);
        assert_eq!(value("system__caller_number"), Some(shown));
        assert_eq!(value("system__called_number"), Some("+15550000001"));
        assert_eq!(
            (value("phoneNumber"), value("name"), value("city")),
            (Some(shown), Some("Ada"), Some("Pune"))
        );
        assert_eq!((plan.carrier.name(), &plan.caller_id), ("twilio", &None));
        let leg = InboundLeg {
            call: call.call,
            token,
            to: ours.clone(),
        };
        assert_eq!(plan.inbound, Some(leg));
    }
}

#[test]
fn a_call_begins_in_the_language_of_the_call_or_its_contact_if_the_agent_has_it() {
    let context = context(json!({ "conversationConfig": {
        "agent": { "dynamicVariables": { "city": "Bath" } },
        "languagePresets": { "de": { "overrides": { "agent": { "dynamicVariables": { "city": "Bonn" } } } }, "fr": {} },
    } }));
    let given = |call: Value, row: Value, saved: Value| {
        let mut attempt = attempt(&row);
        attempt.variables = call.as_object().cloned().unwrap();
        attempt.saved_extra = saved.as_object().cloned().unwrap();
        let plan = planned(attempt, &context);
        let city = plan.variables["city"].clone();
        (plan.agent.conversation_config.agent.primary_language.clone(), city)
    };
    let chosen = |code: &str| json!({ "override.language": code });
    let saved = |code: &str| json!({ "language": code });
    let (none, german) = (json!({}), ("de".to_owned(), "Bonn".to_owned()));
    let french = ("fr".to_owned(), "Bath".to_owned());
    let own = ("en".to_owned(), "Bath".to_owned());
    assert_eq!(given(chosen("de"), none.clone(), saved("fr")), german);
    assert_eq!(given(none.clone(), chosen("de"), saved("fr")), german);
    assert_eq!(given(none.clone(), none.clone(), saved("fr")), french);
    assert_eq!(given(none.clone(), chosen("en"), saved("fr")), own);
    assert_eq!(
        given(none.clone(), saved("de"), none.clone()),
        own,
        "an ordinary variable"
    );
    assert_eq!(
        given(none.clone(), chosen("xx"), saved("fr")),
        french,
        "the preset is gone"
    );
    assert_eq!(given(none.clone(), none.clone(), saved("xx")), own);
}

#[test]
fn a_call_is_planned_with_its_overrides_and_another_agent_keeps_its_own_values() {
    let agent = |allowed: bool| {
        json!({
            "conversationConfig": {
                "agent": { "greetingMessage": "Hello.", "prompt": { "prompt": "Ask." } },
                "languagePresets": { "de": { "overrides": { "agent": { "greetingMessage": "Hallo." } } } },
            },
            "platformSettings": { "overrides": { "greetingMessage": allowed, "llm": true, "maxDurationSeconds": true } },
        })
    };
    let greeting = |plan: &CallPlan| plan.agent.conversation_config.agent.greeting_message.clone().unwrap();
    let fields = json!({ "override.greetingMessage": "Hey!", "override.llm": "own/small", "override.language": "de",
        "override.maxDurationSeconds": "60" });
    let mut overridden = attempt(&fields);
    let plan = planned(overridden.clone(), &context(agent(true)));
    assert_eq!(
        (greeting(&plan), &*plan.agent.conversation_config.agent.primary_language),
        ("Hey!".into(), "de")
    );
    assert_eq!(plan.agent.conversation_config.agent.prompt.llm, "own/small");
    assert_eq!(plan.agent.conversation_config.conversation.max_duration_seconds, 60);
    assert_eq!(plan.overridden, ["greetingMessage", "llm", "maxDurationSeconds"]);
    overridden.variables = json!({ "override.llm": "own/large" }).as_object().cloned().unwrap();
    let plan = planned(overridden.clone(), &context(agent(false)));
    assert_eq!(
        (greeting(&plan), &*plan.agent.conversation_config.agent.prompt.llm),
        ("Hallo.".into(), "own/large")
    );
    assert!(
        planned(attempt(&json!({})), &context(agent(true)))
            .overridden
            .is_empty()
    );

    let call = ReturnedCall {
        attempt: overridden,
        direction: CallDirection::Outbound,
        token: domain::dial_token::DialToken::random(),
        caller_id: None,
        elapsed_ms: 1_000,
        turns: Vec::new(),
        events: Vec::new(),
        collected: BTreeMap::new(),
        opted_out: false,
    };
    let carriers = carriers();
    let inherited = |began_with| {
        let context = context(agent(true));
        plan_inherited(
            (call.clone(), CarrierCallId("1".into())),
            carriers.first(),
            (AgentId::new(), &context),
            began_with,
        )
    };
    assert_eq!(greeting(&inherited(None)), "Hey!");
    let first = context(agent(true)).agent;
    let plan = inherited(Some(first));
    assert_eq!(greeting(&plan), "Hello.");
    let began_with = plan.inherited.unwrap().began_with.clone().unwrap();
    assert_eq!(
        began_with.conversation_config.conversation.max_duration_seconds, 60,
        "holds for the whole call"
    );
}
