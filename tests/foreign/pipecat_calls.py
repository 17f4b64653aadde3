"""Calls an agent at the plain media endpoint with a pipecat pipeline and pipecat's own WebSocket client transport."""

import asyncio, json, sys, urllib.request

from pipecat.frames.frames import EndFrame, Frame, InputAudioRawFrame, OutputAudioRawFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineParams, PipelineTask
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.serializers.base_serializer import FrameSerializer
from pipecat.transports.websocket.client import WebsocketClientParams, WebsocketClientTransport

BASE, KEY, AGENT = sys.argv[1:4]


class Plain(FrameSerializer):
    """Passes audio unchanged both ways; ignores control messages."""

    async def serialize(self, frame: Frame):
        return frame.audio if isinstance(frame, OutputAudioRawFrame) else None

    async def deserialize(self, data):
        if isinstance(data, bytes):
            return InputAudioRawFrame(audio=data, sample_rate=16000, num_channels=1)
        return None


class Ear(FrameProcessor):
    """Counts the received audio and answers every frame with as much silence."""

    heard = loud = 0

    async def process_frame(self, frame: Frame, direction: FrameDirection):
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            samples = memoryview(frame.audio).cast("h")
            self.heard += len(samples)
            self.loud += any(abs(sample) > 1000 for sample in samples)
            silence = bytes(len(frame.audio))
            await self.push_frame(OutputAudioRawFrame(audio=silence, sample_rate=16000, num_channels=1))
            return
        await self.push_frame(frame, direction)


async def main():
    request = urllib.request.Request(
        f"{BASE}/public/v1/calls/inbound", method="POST", data=json.dumps({"agentId": AGENT}).encode(),
        headers={"authorization": f"Bearer {KEY}", "content-type": "application/json"})
    call = json.load(urllib.request.urlopen(request))["data"]
    params = WebsocketClientParams(
        serializer=Plain(), add_wav_header=False, audio_in_enabled=True, audio_out_enabled=True,
        audio_in_sample_rate=16000, audio_out_sample_rate=16000)
    transport = WebsocketClientTransport(call["mediaUrl"], params)
    ear = Ear()
    task = PipelineTask(
        Pipeline([transport.input(), ear, transport.output()]),
        params=PipelineParams(audio_in_sample_rate=16000, audio_out_sample_rate=16000))

    @transport.event_handler("on_connected")
    async def connected(_transport, socket):
        await socket.send(json.dumps({"event": "start", "format": "pcm_16000"}))

    @transport.event_handler("on_disconnected")
    async def disconnected(_transport, _socket):
        await task.queue_frame(EndFrame())

    await asyncio.wait_for(PipelineRunner(handle_sigint=False).run(task), 120)
    assert ear.loud > 50, f"the agent was hardly heard: {ear.loud} loud frames of {ear.heard} samples"
    print(call["conversationId"])


asyncio.run(main())
