# SPDX-License-Identifier: BSD-3-Clause
"""A slow link: forwards TCP connections with a rate in each direction and a delay. It prints its port.
With BUFFER_BYTES the kernel keeps no more than that in front of it: the sender feels the link from the first moment on.
usage: slowlink.py HOST/PORT BITS_PER_SECOND ROUND_TRIP_SECONDS [BUFFER_BYTES]"""
import asyncio, socket, sys

host, port = sys.argv[1].rsplit("/", 1)
rate, delay = float(sys.argv[2]) / 8, float(sys.argv[3]) / 2


async def carry(reader, writer):
    loop, line = asyncio.get_running_loop(), asyncio.Queue(16)     # a short queue: the sender feels the link

    async def deliver():
        while True:
            due, data = await line.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    out = asyncio.create_task(deliver())
    try:
        while data := await reader.read(2048):
            await asyncio.sleep(len(data) / rate)
            await line.put((loop.time() + delay, data))
    except ConnectionError:
        pass
    await line.put((loop.time() + delay, b""))
    try:
        await out
    except ConnectionError:
        pass


async def accept(reader, writer):
    try:
        far_reader, far_writer = await asyncio.open_connection(host, int(port), limit=4096)
        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))
        far_writer.close()
    except OSError:
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=4096)
    if len(sys.argv) > 4:
        server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[4]))
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
