"""Runs a campaign by the Python client of openapi-generator."""

import os
import time

import ringback_client as api

AGENT = {
    "name": "Ava",
    "conversationConfig": {
        "agent": {
            "prompt": {"prompt": "You are Ava from Greenfield Dental.", "builtInTools": {"endCall": {"enabled": True}}},
            "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental.",
        }
    },
    "platformSettings": {"dataCollection": {"entities": {"preferredDay": {"type": "string", "description": "preferred day"}}}},
}


def made(answer):
    """Returns the resource in an answer, which a key without `read` gets in a short form."""
    return getattr(answer.data, "actual_instance", answer.data)


def main() -> None:
    service = api.ApiClient(api.Configuration(host=os.environ["RINGBACK_URL"], access_token=os.environ["RINGBACK_KEY"]))
    agents, campaigns, conversations = api.AgentsApi(service), api.CampaignsApi(service), api.ConversationsApi(service)
    agent = made(agents.create_agent(api.NewAgent.from_dict(AGENT)))
    assert agents.get_agent(agent.agent_id).data.conversation_config.tts.speed == 1
    of_json = api.NewCampaign.from_dict(
        {
            "name": "From JSON",
            "agentId": agent.agent_id,
            "contacts": [{"phoneNumber": "+1 (555) 010-0021", "name": "Tom", "persona": "cooperative"}],
        }
    )
    draft = made(campaigns.create_campaign(of_json))
    assert made(campaigns.launch_campaign(draft.campaign_id)).active is True
    file = ("contacts.csv", b"phone,name,persona\n+15550100010,Maria,cooperative\n")
    launched = campaigns.create_campaign_from_csv(file=file, name="From a file", agent_id=agent.agent_id, launch=True)
    for campaign_id in [draft.campaign_id, made(launched).campaign_id]:
        for _ in range(120):
            page = conversations.list_conversations(campaign_id=campaign_id, status="completed").data
            if page and page[0].summary:
                break
            time.sleep(0.5)
        conversation = conversations.get_conversation(page[0].conversation_id).data
        assert conversation.conversation_duration > 0 and "Agent: " in conversation.transcript
        assert conversation.data_collected.items[0].entity == "preferredDay"
    try:
        api.ContactsApi(service).create_contact(api.NewContact(phone_number="12345"))
        raise AssertionError("a number that is too short was taken")
    except api.exceptions.ApiException as refused:
        assert refused.status == 400 and "phoneNumber" in refused.body
    print("openapi-generator, python: agent, campaigns and conversations are as described")


main()
