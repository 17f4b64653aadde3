"""Creates an agent, a campaign from a file and one from JSON, and reads their conversations, by the generated client."""

import io
import time
from uuid import UUID

from client import CLIENT, made
from ringback_client.api.agents import create_agent, get_agent
from ringback_client.api.campaigns import create_campaign, create_campaign_from_csv, launch_campaign
from ringback_client.api.contacts import create_contact
from ringback_client.api.conversations import get_conversation, list_conversations
from ringback_client.models import (
    CampaignStatus,
    Conversation,
    ConversationStatus,
    Failure,
    NewAgent,
    NewCampaign,
    NewContact,
    NewCsvCampaign,
)
from ringback_client.types import UNSET, File

AGENT = {
    "name": "Ava",
    "conversationConfig": {
        "agent": {
            "prompt": {
                "prompt": "You are Ava from Greenfield Dental. You book check-ups.",
                "builtInTools": {"endCall": {"enabled": True}},
            },
            "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental.",
        }
    },
    "platformSettings": {
        "dataCollection": {
            "entities": {"preferredDay": {"type": "string", "description": "preferred day for a visit"}}
        }
    },
}


def new_agent() -> UUID:
    agent_id = made(create_agent.sync(client=CLIENT, body=NewAgent.from_dict(AGENT))).agent_id
    assert isinstance(agent_id, UUID)
    agent = made(get_agent.sync(agent_id, client=CLIENT))
    assert agent.conversation_config.tts.speed == 1
    assert agent.conversation_config.turn.turn_eagerness == "normal"
    return agent_id


def of_file(agent_id: UUID) -> UUID:
    file = File(io.BytesIO(b"phone,name,persona\n+15550100010,Maria,cooperative\n"), "contacts.csv", "text/csv")
    body = NewCsvCampaign(file=file, name="From a file", agent_id=agent_id, launch=True)
    campaign = made(create_campaign_from_csv.sync(client=CLIENT, body=body))
    assert campaign.contact_count == 1
    return campaign.campaign_id


def of_json(agent_id: UUID) -> UUID:
    body = NewCampaign.from_dict(
        {
            "name": "From JSON",
            "agentId": str(agent_id),
            "contacts": [{"phoneNumber": "+1 (555) 010-0021", "name": "Tom", "persona": "cooperative"}],
        }
    )
    campaign = made(create_campaign.sync(client=CLIENT, body=body))
    assert campaign.status == CampaignStatus.DRAFT
    launched = made(launch_campaign.sync(campaign.campaign_id, client=CLIENT))
    assert launched.active is True
    return launched.campaign_id


def conversation_of(campaign_id: UUID) -> Conversation:
    for _ in range(120):
        page = made(
            list_conversations.sync(client=CLIENT, campaign_id=campaign_id, status=ConversationStatus.COMPLETED)
        )
        if page and page[0].summary is not UNSET:
            return made(get_conversation.sync(page[0].conversation_id, client=CLIENT))
        time.sleep(0.5)
    raise AssertionError(f"campaign {campaign_id} has no completed conversation after a minute")


def main() -> None:
    agent_id = new_agent()
    for campaign_id in [of_file(agent_id), of_json(agent_id)]:
        conversation = conversation_of(campaign_id)
        assert conversation.status is ConversationStatus.COMPLETED
        assert conversation.agent_id == agent_id
        assert conversation.conversation_duration > 0
        assert "Agent: " in conversation.transcript
        collected = {item.entity: item.value for item in conversation.data_collected.items}
        assert collected["preferredDay"]
        assert -1 <= conversation.sentiment.sentiment_score <= 1
    refused = create_contact.sync(client=CLIENT, body=NewContact(phone_number="12ab"))
    assert isinstance(refused, Failure)
    assert refused.error.fields[0].path == "phoneNumber"
    print("python: agent, campaigns and conversations are as described")


main()
