"""An OpenAI server that can lose its power: `power` on standard input makes its kernel drop, unread and unacknowledged, all
that comes for it, as if the cable were out. What it does with a request stands in the request's id, between its dashes:
`silent` nothing at all, `head` the head alone, `begun` a part of the answer, `unread` leaves the body in the socket; else it
answers. Says `port N` when it listens, `held ID` for each request that waits for its end, and `dead` when the power is gone.
"""

import asyncio
import ctypes
import json
import re
import socket
import struct
import sys

SO_ATTACH_FILTER = 26
WRITERS = set()
COMMON = {"id": "chatcmpl-1", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}


def drop_all(sock):
    """A classic BPF program of one step: accept no byte of any packet. It lies before TCP, so nothing is acknowledged."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


def say(line):
    print(line, flush=True)


def event(choice):
    return f"data: {json.dumps({**COMMON, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


def head(stream, length):
    kind, size = ("text/event-stream", "transfer-encoding: chunked") if stream else ("application/json", f"content-length: {length}")
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{size}\r\n\r\n".encode()


def chunked(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def hold(writer, request_id, data=b""):
    writer.write(data)
    await writer.drain()
    say(f"held {request_id}")
    await asyncio.Event().wait()


async def serve(reader, writer):
    WRITERS.add(writer)
    try:
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            size = int(re.search(r"\ncontent-length: (\d+)", lines, re.I).group(1))
            request_id = re.search(r"\nx-request-id: (\S+)", lines, re.I).group(1)
            if "-unread-" in request_id:
                await hold(writer, request_id)
            stream = json.loads(await reader.readexactly(size)).get("stream", False)
            message = {"index": 0, "message": {"role": "assistant", "content": "word"}, "finish_reason": "stop"}
            whole = json.dumps({**COMMON, "object": "chat.completion", "choices": [message], "usage": USAGE}).encode()
            first = event({"index": 0, "delta": {"content": "word"}, "finish_reason": None})
            if "-silent-" in request_id:
                await hold(writer, request_id)
            if "-head-" in request_id:
                await hold(writer, request_id, head(stream, len(whole)))
            if "-begun-" in request_id:
                await hold(writer, request_id, head(stream, len(whole)) + (chunked(first) if stream else whole[:20]))
            last = event({"index": 0, "delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n"
            body = chunked(first + last) + b"0\r\n\r\n" if stream else whole
            writer.write(head(stream, len(whole)) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        WRITERS.discard(writer)
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 16)
    say(f"port {server.sockets[0].getsockname()[1]}")
    loop = asyncio.get_running_loop()
    if (await loop.run_in_executor(None, sys.stdin.readline)).strip() == "power":
        for sock in [*server.sockets, *(writer.get_extra_info("socket") for writer in WRITERS)]:
            drop_all(sock)
        say("dead")
        await asyncio.Event().wait()


asyncio.run(main())
