"""A TCP forwarder that delays, since not every kernel has netem: `python -m bench.delay PORT HOST:PORT RTT_MS`.

Every chunk arrives half a round trip later; a new connection waits a whole one before its first byte, as a handshake
would. What TCP itself would do with acknowledgements over such a line is not seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                break
            writer.write(data)
        with contextlib.suppress(OSError):  # the other end may be gone already
            writer.write_eof()

    task = asyncio.create_task(deliver())
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            waiting.put_nowait((loop.time() + delay_s, data))
    waiting.put_nowait((loop.time() + delay_s, b""))
    await task


async def _serve(port: int, host: str, target: int, delay_s: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * delay_s)
        far_reader, far_writer = await asyncio.open_connection(host, target)
        for end in (writer, far_writer):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.gather(_pump(reader, far_writer, delay_s), _pump(far_reader, writer, delay_s))
        finally:
            writer.close()
            far_writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    host, _, target = sys.argv[2].rpartition(":")
    asyncio.run(_serve(int(sys.argv[1]), host, int(target), float(sys.argv[3]) / 2000))
