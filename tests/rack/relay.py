"""``relay.py SOCKET FILE``: leads from a Unix socket, which has no network namespace, to a server in the one this runs in.

``FILE`` has its URL, and is read at each connection: an Ironic has another port after each start.
"""

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def _address(file: str) -> tuple[str | None, int | None]:
    url = urlsplit(Path(file).read_text(encoding="ascii").strip())
    return url.hostname, url.port


async def main(path: str, file: str) -> None:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_reader, to_writer = await asyncio.open_connection(*_address(file))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))

    server = await asyncio.start_unix_server(relay, path)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
