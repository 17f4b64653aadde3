"""Overrides and commands of a live call, its record, searches, versions, numbers, voices, webhooks, analytics and keys, by
the generated client."""

import json
import time
from uuid import UUID

from client import CLIENT, client_of, made
from ringback_client.api.agents import (
    create_agent,
    diff_agent_versions,
    duplicate_agent,
    list_agent_versions,
    restore_agent_version,
    update_agent,
)
from ringback_client.api.analytics import get_analytics
from ringback_client.api.api_keys import create_api_key, delete_api_key
from ringback_client.api.campaigns import (
    add_campaign_contacts,
    call_campaign_contacts_again,
    create_campaign,
    duplicate_campaign,
    get_campaign,
)
from ringback_client.api.conversations import (
    create_call,
    delete_conversation,
    export_conversations,
    get_conversation,
    instruct_call,
    list_conversations,
    list_events,
    list_turns,
    say_in_call,
)
from ringback_client.api.events import create_webhook, list_webhook_deliveries, test_webhook, update_webhook
from ringback_client.api.phone_numbers import assign_phone_number, list_phone_numbers
from ringback_client.api.voices_and_models import list_models, list_voices
from ringback_client.models import (
    AgentCopy,
    AgentPatch,
    CallAgainOptions,
    CampaignCopy,
    ConversationStatus,
    EventType,
    ExportConversationsFormat,
    Failure,
    MoreContacts,
    NewAgent,
    NewApiKey,
    NewCall,
    NewCampaign,
    NewInstructions,
    NewWebhook,
    NewWords,
    NumberAssignment,
    WebhookPatch,
)

AGENT = {
    "name": "Ava",
    "conversationConfig": {
        "agent": {
            "prompt": {"prompt": "You book check-ups.", "builtInTools": {"endCall": {"enabled": True}}},
            "greetingMessage": "Hello {{name}}, this is Ava.",
        }
    },
    "platformSettings": {
        "overrides": {"greetingMessage": True},
        "dataCollection": {
            "entities": {"preferredDay": {"type": "string", "description": "preferred day for a visit"}}
        },
    },
}


BUSY = CallAgainOptions.from_dict({"outcomes": ["busy"]})
WALLBOARD = NewApiKey.from_dict({"name": "wallboard", "scopes": ["read"]})


def refused(answer, code: str) -> None:
    assert isinstance(answer, Failure) and answer.error.code == code, answer


def until(read, seconds: int = 60):
    """Returns the first result of `read` that is true."""
    for _ in range(seconds * 4):
        result = read()
        if result:
            return result
        time.sleep(0.25)
    raise AssertionError(f"nothing came in {seconds} s")


def call_with_overrides(agent_id: UUID) -> UUID:
    body = NewCall.from_dict(
        {
            "agentId": str(agent_id),
            "phoneNumber": "+15550100010",
            "name": "Maria",
            "dynamicVariables": {"persona": "cooperative"},
            "overrides": {"greetingMessage": "Good day {{name}}, the practice is calling."},
        }
    )
    call = made(create_call.sync(client=CLIENT, body=body)).conversation_id
    words = NewWords(text="By the way, parking is free.")
    # Refused until the call talks.
    until(lambda: not isinstance(say_in_call.sync(call, client=CLIENT, body=words), Failure))
    made(instruct_call.sync(call, client=CLIENT, body=NewInstructions(text="Be brief.")))
    wrong = NewCall.from_dict(
        {"agentId": str(agent_id), "phoneNumber": "+15550100011", "overrides": {"prompt": "Sell cars."}}
    )
    refused(create_call.sync(client=CLIENT, body=wrong), "invalid_request")
    return call


def check_record(call: UUID) -> None:
    def ended():
        shown = made(get_conversation.sync(call, client=CLIENT))
        return shown.status is ConversationStatus.COMPLETED and shown.summary is not None and shown

    assert until(ended).cost.currency == "USD"
    said = " ".join(turn.words for turn in made(list_turns.sync(call, client=CLIENT, page_size=100)))
    assert "Good day Maria" in said and "parking is free" in said, said
    events = {event.type_: event.detail for event in made(list_events.sync(call, client=CLIENT, page_size=100))}
    for wanted in [EventType.DIALED, EventType.ANSWERED, EventType.OVERRIDDEN, EventType.SAY, EventType.ENDED]:
        assert wanted in events, events
    assert events[EventType.SAY]["by"], events

    found = until(lambda: made(list_conversations.sync(client=CLIENT, search='"parking is free"')))
    assert found[0].conversation_id == call and "parking" in found[0].matches[0].text
    lines = export_conversations.sync(
        client=CLIENT, format_=ExportConversationsFormat.JSONL, search="parking", phone_number="+15550100010"
    )
    assert json.loads(lines)["conversationId"] == str(call), lines


def check_versions(agent_id: UUID) -> None:
    renamed = made(update_agent.sync(agent_id, client=CLIENT, body=AgentPatch(name="Eva"), if_match='"1"'))
    assert renamed.name == "Eva"
    refused(update_agent.sync(agent_id, client=CLIENT, body=AgentPatch(name="Ida"), if_match='"1"'), "conflict")
    assert len(made(list_agent_versions.sync(agent_id, client=CLIENT))) == 2
    changes = made(diff_agent_versions.sync(agent_id, 1, client=CLIENT, against=2))
    assert "name" in str(changes), changes
    assert made(restore_agent_version.sync(agent_id, 1, client=CLIENT)).name == "Ava"


def check_numbers_and_voices(agent_id: UUID) -> None:
    copy = made(duplicate_agent.sync(agent_id, client=CLIENT, body=AgentCopy(name="Copy")))
    assignment = NumberAssignment(agent_id=str(copy.agent_id))
    made(assign_phone_number.sync("+15550109001", client=CLIENT, body=assignment))
    (number,) = made(list_phone_numbers.sync(client=CLIENT))
    assert (number.phone_number, number.agents[0].name) == ("+15550109001", "Copy")
    assert made(list_voices.sync(client=CLIENT)).voices[0].provider == "babble"
    assert made(list_models.sync(client=CLIENT)).models[0].model == "interviewer"


def check_analytics(agent_id: UUID) -> None:
    def counted():
        rows = made(get_analytics.sync(client=CLIENT, agent_id=agent_id)).rows
        return rows and rows[0].calls >= 3 and rows[0]

    # A call is counted half a minute after its end.
    outcomes = until(counted, 120).outcomes
    assert outcomes["busy"] >= 2 and outcomes["completed"] == 1, outcomes


def check_campaigns(agent_id: UUID) -> None:
    contact = {"phoneNumber": "+15550100021", "name": "Tom", "persona": "busy"}
    body = NewCampaign.from_dict(
        {"name": "Grows", "agentId": str(agent_id), "contacts": [contact], "launch": True, "ringTimeoutSeconds": 20}
    )
    campaign = made(create_campaign.sync(client=CLIENT, body=body)).campaign_id
    more = MoreContacts.from_dict({"contacts": [contact, {"phoneNumber": "+15550100022", "persona": "busy"}]})
    added = made(add_campaign_contacts.sync(campaign, client=CLIENT, body=more))
    assert (added.added, added.already_present) == (1, 1)

    def over():
        shown = made(get_campaign.sync(campaign, client=CLIENT))
        return shown.status in ("completed", "paused") and shown.progress.failed == 2

    until(over)
    again = made(call_campaign_contacts_again.sync(campaign, client=CLIENT, body=BUSY))
    assert again.contacts == 2
    copy = made(duplicate_campaign.sync(campaign, client=CLIENT, body=CampaignCopy(name="Copy")))
    assert (copy.name, copy.status, copy.contact_count) == ("Copy", "draft", 2)


def check_webhooks() -> None:
    body = NewWebhook(url="https://example.com/hook", types=["call.*"])
    webhook = made(create_webhook.sync(client=CLIENT, body=body))
    assert webhook.secret.startswith("whsec_")
    made(test_webhook.sync(webhook.webhook_id, client=CLIENT))
    deliveries = made(list_webhook_deliveries.sync(webhook.webhook_id, client=CLIENT))
    assert deliveries[0].type_ == "webhook.test"
    changed = made(update_webhook.sync(webhook.webhook_id, client=CLIENT, body=WebhookPatch(enabled=False)))
    assert changed.enabled is False


def check_keys(call: UUID) -> None:
    key = made(create_api_key.sync(client=CLIENT, body=WALLBOARD))
    reader = client_of(key.api_key)
    made(get_conversation.sync(call, client=reader))
    refused(delete_conversation.sync(call, client=reader), "forbidden")
    made(delete_api_key.sync(key.key_id, client=CLIENT))
    refused(get_conversation.sync(call, client=reader), "unauthorized")
    # For ten seconds after its end a call may still write something.
    until(lambda: not isinstance(delete_conversation.sync(call, client=CLIENT), Failure))
    refused(get_conversation.sync(call, client=CLIENT), "not_found")


def main() -> None:
    agent_id = made(create_agent.sync(client=CLIENT, body=NewAgent.from_dict(AGENT))).agent_id
    call = call_with_overrides(agent_id)
    check_versions(agent_id)
    check_numbers_and_voices(agent_id)
    check_campaigns(agent_id)
    check_webhooks()
    check_record(call)
    check_analytics(agent_id)
    check_keys(call)
    print("python: overrides, live control, records, numbers, webhooks, analytics and keys are as described")


main()
