"""Answers "there is no item" to each request whose signature is right, by the rules of AWS Signature Version 4."""

import hmac
import re
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = "any"


def sign(key, text):
    return hmac.new(key, text.encode(), sha256)


class Verifier(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def signature(self, body):
        given = self.headers["Authorization"]
        scope = re.search("Credential=[^/]+/([^,]+)", given)[1]
        signed = re.search("SignedHeaders=([^,]+)", given)[1]
        lines = [f"{name}:{self.headers[name].strip()}\n" for name in signed.split(";")]
        digest = sha256(body).hexdigest()
        request = "\n".join([self.command, self.path, "", "".join(lines), signed, digest])
        hashed = sha256(request.encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["X-Amz-Date"], scope, hashed])
        key = ("AWS4" + SECRET).encode()
        for part in scope.split("/"):
            key = sign(key, part).digest()
        return sign(key, text).hexdigest()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_right = self.headers["Authorization"].endswith("Signature=" + self.signature(body))
        name = "com.amazon.coral.service#InvalidSignatureException"
        answer = "{}" if is_right else '{"__type":"%s","message":"it does not match"}' % name
        self.send_response(200 if is_right else 400)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Verifier)
print(server.server_port, flush=True)
server.serve_forever()
