"""ClickHouse as a library (PyPI: chdb-core-lite), behind the part of its HTTP interface that the sink uses.

Arguments: the folder of its data, and the port (0 = a free one). Prints the port.
"""
import re
import sys
import types
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit


class Absent(types.ModuleType):
    """Data frames are of no use here: the engine's package asks for these modules only when it is imported."""

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return type(name, (), {})


for name in ('numpy', 'pandas', 'pyarrow'):
    sys.modules.setdefault(name, Absent(name))

from chdb import session  # noqa: E402

engine = session.Session(sys.argv[1])


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length'])).decode()
        query = parse_qs(urlsplit(self.path).query).get('query')
        try:
            said = str(engine.query(body if query is None else query[0] + '\n' + body, 'JSONCompactEachRow'))
            self.reply(200, said, None)
        except Exception as error:
            code = re.search(r'Code: (\d+)', str(error))
            self.reply(400, str(error), code.group(1) if code else '0')

    def reply(self, status, text, code):
        data = text.encode()
        self.send_response(status)
        self.send_header('content-length', str(len(data)))
        if code:
            self.send_header('x-clickhouse-exception-code', code)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = HTTPServer(('127.0.0.1', int(sys.argv[2])), Handler)
print(server.server_port, flush=True)
server.serve_forever()
