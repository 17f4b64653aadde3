//! Runs a campaign by the client that progenitor generates.

#[allow(dead_code, unused_imports, clippy::all)]
mod client {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}

use std::{env, error::Error, time::Duration};

use client::{
    Client,
    types::{
        CampaignStatus, Conversation, ConversationStatus, CreateCampaignResponseData, LaunchCampaignResponseData,
        NewAgent, NewCampaign, NewContact,
    },
};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{from_value, json};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let client = client()?;
    let agent = new_agent(&client).await?;
    let campaign = launched_campaign(&client, agent).await?;
    let conversation = conversation_of(&client, campaign).await?;
    assert_eq!(conversation.agent_id, agent);
    assert!(conversation.conversation_duration > 0);
    assert!(
        conversation
            .transcript
            .is_some_and(|transcript| transcript.contains("Agent: "))
    );
    assert_eq!(conversation.data_collected.items[0].entity, "preferredDay");
    let contact: NewContact = from_value(json!({ "phoneNumber": "12345" }))?;
    let refused = client
        .create_contact()
        .body(contact)
        .send()
        .await
        .expect_err("not a phone number");
    let client::Error::ErrorResponse(failure) = refused else {
        return Err(refused.into());
    };
    assert_eq!(failure.status(), 400);
    assert_eq!(failure.error.fields[0].path, "phoneNumber");
    println!("progenitor: agent, campaign and conversation are as described");
    Ok(())
}

fn client() -> Outcome<Client> {
    let mut key = HeaderMap::new();
    key.insert("x-api-key", HeaderValue::from_str(&env::var("RINGBACK_KEY")?)?);
    let http = reqwest::Client::builder().default_headers(key).build()?;
    Ok(Client::new_with_client(&env::var("RINGBACK_URL")?, http))
}

async fn new_agent(client: &Client) -> Outcome<Uuid> {
    let agent: NewAgent = from_value(json!({
        "name": "Ava",
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are Ava from Greenfield Dental.",
                    "builtInTools": { "endCall": { "enabled": true } }
                },
                "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental."
            },
            "turn": { "turnTimeout": 9 }
        },
        "platformSettings": {
            "dataCollection": { "entities": { "preferredDay": { "type": "string", "description": "preferred day" } } }
        }
    }))?;
    let id = client.create_agent().body(agent).send().await?.data.agent_id;
    let turn = client
        .get_agent()
        .agent_id(id)
        .send()
        .await?
        .into_inner()
        .data
        .conversation_config
        .turn;
    assert_eq!((turn.turn_timeout, turn.silence_end_call_timeout), (9.0, -1.0));
    Ok(id)
}

async fn launched_campaign(client: &Client, agent: Uuid) -> Outcome<Uuid> {
    let campaign: NewCampaign = from_value(json!({
        "name": "From JSON",
        "agentId": agent,
        "contacts": [{ "phoneNumber": "+1 (555) 010-0021", "name": "Tom", "persona": "cooperative" }]
    }))?;
    let answer = client.create_campaign().body(campaign).send().await?.into_inner();
    let CreateCampaignResponseData::Campaign(draft) = answer.data else {
        panic!("a draft in full")
    };
    assert_eq!((draft.status, draft.contact_count), (CampaignStatus::Draft, 1));
    let answer = client
        .launch_campaign()
        .campaign_id(draft.campaign_id)
        .body_map(|none| none)
        .send()
        .await?;
    let LaunchCampaignResponseData::Campaign(launched) = answer.into_inner().data else {
        panic!("it in full")
    };
    assert!(launched.active);
    Ok(launched.campaign_id)
}

/// Waits for the end of a campaign with one contact, and returns its analysed conversation.
async fn conversation_of(client: &Client, campaign: Uuid) -> Outcome<Conversation> {
    for _ in 0..120 {
        let status = client
            .get_campaign()
            .campaign_id(campaign)
            .send()
            .await?
            .into_inner()
            .data
            .status;
        let list = client
            .list_conversations()
            .campaign_id(campaign)
            .status(ConversationStatus::Completed);
        let page = list.send().await?.into_inner().data;
        if let [item] = &page[..]
            && status == CampaignStatus::Completed
            && item.summary.is_some()
        {
            let conversation = client
                .get_conversation()
                .conversation_id(item.conversation_id)
                .send()
                .await?;
            return Ok(conversation.into_inner().data);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err("the campaign has no completed conversation after a minute".into())
}
