"""Tests the stub providers with the official Python packages, service by service. Every check prints a line; the first
failure ends the program."""

import asyncio
import base64
import io
import json
import os
import threading
import urllib.request
import wave

import anthropic
import deepgram
import elevenlabs
import openai
from deepgram.core.events import EventType
from deepgram.environment import DeepgramClientEnvironment
from elevenlabs.realtime.connection import RealtimeEvents
from elevenlabs.realtime.scribe import AudioFormat, CommitStrategy

STUBS = os.environ["STUBS"]
HTTP, WS = f"http://{STUBS}", f"ws://{STUBS}"
KEY = "right-key"
SENTENCE = "Good morning, this is Ann."
COLLECT = {
    "type": "object",
    "properties": {
        "entity": {"type": "string", "enum": ["name"], "description": "name (string): your full name"},
        "value": {"type": "string"},
    },
    "required": ["entity", "value"],
}


def passed(what, detail=""):
    print(f"ok  {what}  {detail}")


def openai_client(key=KEY):
    return openai.OpenAI(api_key=key, base_url=f"{HTTP}/v1", max_retries=0)


def chat():
    client = openai_client()
    stream = client.chat.completions.create(
        model="gpt-6-luna",
        reasoning_effort="none",
        messages=[
            {"role": "system", "content": "You ask for a name."},
            {"role": "user", "content": "Hello, who is this?"},
        ],
        stream=True,
        stream_options={"include_usage": True},
    )
    text, usage, finish = "", None, None
    for chunk in stream:
        if chunk.usage:
            usage = chunk.usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert text and finish == "stop" and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    passed("openai: chat completions, streamed", repr(text))

    tools = [{"type": "function", "function": {"name": "collect", "description": "Keep it.", "parameters": COLLECT}}]
    messages = [
        {"role": "system", "content": "You ask for a name."},
        {"role": "assistant", "content": "Could you tell me your full name?"},
        {"role": "user", "content": "Maria Lopez."},
    ]
    with client.chat.completions.stream(
        model="gpt-6-luna", reasoning_effort="none", messages=messages, tools=tools
    ) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    calls = message.tool_calls or []
    assert [call.function.name for call in calls][:1] == ["collect"], message
    assert "Maria" in json.loads(calls[0].function.arguments)["value"]
    passed("openai: tool calls, streamed", calls[0].function.arguments)

    try:
        openai_client("wrong").chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}])
    except openai.AuthenticationError as error:
        passed("openai: a wrong key is refused", error.code)
    else:
        raise AssertionError("a wrong key was taken")


def messages():
    client = anthropic.Anthropic(api_key=KEY, base_url=HTTP, max_retries=0)
    tools = [{"name": "collect", "description": "Keep it.", "input_schema": COLLECT}]
    with client.messages.stream(
        model="claude-haiku-5-5",
        max_tokens=200,
        system="You ask for a name.",
        messages=[
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": "Could you tell me your full name?"},
            {"role": "user", "content": "Maria Lopez."},
        ],
        tools=tools,
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_message()
    kinds = [block.type for block in final.content]
    assert "tool_use" in kinds and final.usage.output_tokens > 0, final
    passed("anthropic: messages, streamed, with a tool", str(kinds))
    try:
        anthropic.Anthropic(api_key="wrong", base_url=HTTP, max_retries=0).messages.create(
            model="x", max_tokens=1, messages=[{"role": "user", "content": "hi"}]
        )
    except anthropic.AuthenticationError:
        passed("anthropic: a wrong key is refused")
    else:
        raise AssertionError("a wrong key was taken")


def speech():
    """Returns 24 kHz PCM, as the service speaks it."""
    with openai_client().audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts", voice="alloy", input=SENTENCE, response_format="pcm"
    ) as response:
        audio = b"".join(response.iter_bytes())
    assert len(audio) > 24_000 and len(audio) % 2 == 0
    passed("openai: speech", f"{len(audio)} bytes of 24 kHz PCM")
    return audio


def transcriptions(pcm_16k):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(pcm_16k)
    file.seek(0)
    answer = openai_client().audio.transcriptions.create(
        model="gpt-transcribe", file=("speech.wav", file, "audio/wav"), response_format="json"
    )
    assert answer.text == SENTENCE, answer
    passed("openai: transcriptions", repr(answer.text))


def deepgram_client(key=KEY):
    here = DeepgramClientEnvironment(base=HTTP, production=WS, agent=WS, agent_rest=HTTP)
    return deepgram.DeepgramClient(api_key=key, environment=here)


def gathered(connection):
    """Returns the messages of a connection as they arrive, and the thread that receives them."""
    messages, errors = [], []
    connection.on(EventType.MESSAGE, messages.append)
    connection.on(EventType.ERROR, errors.append)
    thread = threading.Thread(target=connection.start_listening, daemon=True)
    thread.start()
    return messages, errors, thread


def listen(pcm_16k):
    with deepgram_client().listen.v1.connect(
        model="nova-3", encoding="linear16", sample_rate="16000", interim_results="true", vad_events="true"
    ) as connection:
        messages, errors, thread = gathered(connection)
        for at in range(0, len(pcm_16k), 3_200):
            connection.send_media(pcm_16k[at : at + 3_200])
        connection.send_keep_alive()
        connection.send_finalize()
        connection.send_close_stream()
        thread.join(20)
    kinds = [getattr(message, "type", "?") for message in messages]
    finals = [m for m in messages if m.type == "Results" and m.is_final]
    text = " ".join(m.channel.alternatives[0].transcript for m in finals).strip()
    assert text == SENTENCE, (text, kinds, errors)
    assert "Metadata" in kinds and not errors, (kinds, errors)
    words = [word for m in finals for word in m.channel.alternatives[0].words]
    assert words and all(word.end > word.start for word in words), words
    passed("deepgram: listen", f"{sorted(set(kinds))} {text!r}")
    try:
        with deepgram_client("wrong").listen.v1.connect(model="nova-3") as _:
            pass
    except Exception as error:  # The package raises the errors of its websocket library.
        assert "401" in str(error), error
        passed("deepgram: a wrong key is refused")
    else:
        raise AssertionError("a wrong key was taken")


def flux(pcm_16k):
    with deepgram_client().listen.v2.connect(
        model="flux-general-en", encoding="linear16", sample_rate="16000", eager_eot_threshold="0.5"
    ) as connection:
        messages, errors, thread = gathered(connection)
        silence = bytes(16_000 * 2 * 2)
        for at in range(0, len(pcm_16k) + len(silence), 2_560):
            connection.send_media((pcm_16k + silence)[at : at + 2_560])
        for _ in range(100):
            if any(getattr(m, "event", "") == "EndOfTurn" for m in messages):
                break
            thread.join(0.1)
        connection.send_close_stream()
        thread.join(5)
    ends = [m for m in messages if getattr(m, "event", "") == "EndOfTurn"]
    kinds = [getattr(m, "event", getattr(m, "type", "?")) for m in messages]
    assert kinds[0] == "Connected" and len(ends) == 1 and ends[0].transcript == SENTENCE, (kinds, ends, errors)
    passed("deepgram: flux", f"{sorted(set(map(str, kinds)))}")


def speak():
    with deepgram_client().speak.v1.connect(
        model="aura-2-thalia-en", encoding="linear16", sample_rate="16000"
    ) as connection:
        messages, errors, thread = gathered(connection)
        from deepgram.speak.v1.types import SpeakV1Text

        connection.send_text(SpeakV1Text(type="Speak", text=SENTENCE))
        connection.send_flush()
        for _ in range(100):
            if any(getattr(m, "type", "") == "Flushed" for m in messages):
                break
            thread.join(0.1)
        connection.send_clear()
        connection.send_close()
        thread.join(5)
    audio = b"".join(m for m in messages if isinstance(m, bytes))
    kinds = {getattr(m, "type", "audio") for m in messages}
    assert len(audio) > 16_000 and {"Metadata", "Flushed"} <= kinds, (kinds, errors)
    passed("deepgram: speak, over a socket", str(sorted(kinds)))
    whole = b"".join(
        deepgram_client().speak.v1.audio.generate(
            text=SENTENCE, model="aura-2-thalia-en", encoding="linear16", sample_rate=16_000, container="none"
        )
    )
    assert abs(len(whole) - len(audio)) < 6_400, (len(whole), len(audio))
    passed("deepgram: speak, in one request", f"{len(whole)} bytes")
    return whole


def eleven(key=KEY):
    return elevenlabs.ElevenLabs(api_key=key, base_url=HTTP)


def convert():
    """Speaks one utterance over the socket; the package's own client supports only wss, so its address is replaced."""
    client = eleven()
    client.text_to_speech._ws_base_url = WS
    audio = b"".join(
        client.text_to_speech.convert_realtime(
            "21m00Tcm4TlvDq8ikWAM",
            text=iter([SENTENCE + " "]),
            model_id="eleven_flash_v2_5",
            output_format="pcm_16000",
            voice_settings=elevenlabs.VoiceSettings(stability=0.5, similarity_boost=0.8),
        )
    )
    assert len(audio) > 16_000, len(audio)
    passed("elevenlabs: stream-input", f"{len(audio)} bytes")
    streamed = b"".join(
        eleven().text_to_speech.stream(
            "21m00Tcm4TlvDq8ikWAM", text=SENTENCE, model_id="eleven_flash_v2_5", output_format="pcm_16000"
        )
    )
    assert abs(len(streamed) - len(audio)) < 6_400, (len(streamed), len(audio))
    passed("elevenlabs: stream, in one request", f"{len(streamed)} bytes")


async def scribe(pcm_16k):
    from elevenlabs.realtime.scribe import ScribeRealtime

    connection = await ScribeRealtime(api_key=KEY, base_url=WS).connect(
        {
            "model_id": "scribe_v2_realtime",
            "audio_format": AudioFormat.PCM_16000,
            "sample_rate": 16_000,
            "commit_strategy": CommitStrategy.MANUAL,
        }
    )
    committed = asyncio.get_running_loop().create_future()
    failed = []
    connection.on(
        RealtimeEvents.COMMITTED_TRANSCRIPT, lambda data: committed.done() or committed.set_result(data)
    )
    connection.on(RealtimeEvents.ERROR, failed.append)
    for at in range(0, len(pcm_16k), 6_400):
        await connection.send({"audio_base_64": base64.b64encode(pcm_16k[at : at + 6_400]).decode()})
    await connection.commit()
    data = await asyncio.wait_for(committed, 20)
    await connection.close()
    text = data["text"] if isinstance(data, dict) else data.text
    assert text == SENTENCE and not failed, (data, failed)
    passed("elevenlabs: scribe realtime", repr(text))


def main():
    chat()
    messages()
    speech()
    spoken = speak()
    convert()
    # Words are recognised by the silence after them.
    pcm_16k = spoken + bytes(16_000)
    transcriptions(pcm_16k)
    listen(pcm_16k)
    flux(spoken)
    asyncio.run(scribe(pcm_16k))
    with urllib.request.urlopen(f"{HTTP}/checked") as answer:
        passed("all fields of all requests are in a schema", ", ".join(json.load(answer)))


main()
