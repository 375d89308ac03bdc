"""moto, which checks a condition and writes in two steps: here one request is served at a time. It has faults, too.

A test sets the fault by POST of JSON to /fault. `of` lists the operations that it is about; empty means all. Those of S3
are the methods of HTTP, and LIST. `row` is the row that they are about. `times` is the number of requests that meet it.
Such a request is answered after `late` seconds. It is carried out before that, after that or never (`done`: "first",
"late", "never"). With `error` the answer is one of `ERRORS`. With `past` an answer from before the fault comes again.
GET of /fault has the number of requests that met one, those of each operation so far, and the keys that have signed
one, in their order.

It also gives credentials, as a machine of Amazon's does at /latest, and a container at /creds/SECONDS, after which they
end. Each time it gives another key, but for the first one only after 2 s.
"""

import io
import json
import sys
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import unquote

from moto.server import DomainDispatcherApplication, create_backend_app

# What goes wrong, as DynamoDB and as S3 answer.
ERRORS = {
    "conflict": ((400, "TransactionConflictException"), (409, "ConditionalRequestConflict")),
    "denied": ((400, "AccessDeniedException"), (403, "AccessDenied")),
    "expired": ((400, "ExpiredTokenException"), (400, "ExpiredToken")),
    "missing": ((400, "ResourceNotFoundException"), (404, "NoSuchBucket")),
    "failed": ((500, "InternalServerError"), (500, "InternalError")),
    "stranger": ((400, "UnrecognizedClientException"), (403, "InvalidAccessKeyId")),
    "throttled": ((400, "ThrottlingException"), (503, "SlowDown")),
    "unmet": ((400, "ConditionalCheckFailedException"), (412, "PreconditionFailed")),
}

serve, lock = DomainDispatcherApplication(create_backend_app), Lock()
fault, met, counts, past, keys, given = {}, 0, Counter(), {}, [], Counter()


def answered(environ, start_response, body):
    """Has moto serve the request. Returns what it answers, for later."""
    kept = {}

    def started(status, headers, exc_info=None):
        kept["head"] = (status, list(headers))
        return lambda data: None

    with lock:
        text = b"".join(serve({**environ, "wsgi.input": io.BytesIO(body)}, started))
    return kept["head"], text


def control(environ, start_response, body):
    global fault, met
    if environ["REQUEST_METHOD"] == "POST":
        fault, met = json.loads(body), 0
    return said(start_response, json.dumps({"met": met, "counts": counts, "keys": keys}))


def said(start_response, text, status="200 OK"):
    text = text.encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
    return [text]


def credentials(environ, start_response, path):
    if path == "/latest/api/token":
        return said(start_response, "a token", "200 OK" if environ["REQUEST_METHOD"] == "PUT" else "405 No")
    is_machine = path.startswith("/latest/")
    if is_machine and environ.get("HTTP_X_AWS_EC2_METADATA_TOKEN") != "a token":
        return said(start_response, "no token", "401 No")
    if is_machine and path.endswith("/security-credentials/"):
        return said(start_response, "a-role")
    source, life = ("MACHINE", 3600) if is_machine else ("CONTAINER", int(path.rpartition("/")[2]))
    given[source] += 1
    if not is_machine and given[source] > 1:
        time.sleep(2)
    end = datetime.now(timezone.utc) + timedelta(seconds=life)
    return said(start_response, json.dumps({
        "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2026-01-01T00:00:00Z", "SecretAccessKey": "any",
        "AccessKeyId": f"{source}{given[source]}", "Token": "any", "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }))


def refusal(found, is_s3):
    """Returns the answer of a fault that is an error."""
    status, name = ERRORS[found["error"]][is_s3]
    if not is_s3:
        text = json.dumps({"__type": "com.amazonaws.dynamodb.v20120810#" + name, "message": "a fault"})
        return (f"{status} Fault", [("Content-Type", "application/x-amz-json-1.0")]), text.encode()
    text = f"<Error><Code>{name}</Code><Message>a fault</Message></Error>"
    return (f"{status} Fault", [("Content-Type", "application/xml")]), text.encode()


def meets(operation, path, body):
    """Returns the fault that a request meets, if any."""
    global met
    with lock:
        found = fault
        if not found or (found["of"] and operation not in found["of"]) or found.get("times") == 0:
            return None
        row = found.get("row")
        if row and f'"{row}"'.encode() not in body and not path.endswith(f"/{row}"):
            return None
        if found.get("times") is not None:
            found["times"] -= 1
        met += 1
        return found


def one_at_a_time(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if environ["PATH_INFO"] == "/fault":
        return control(environ, start_response, body)
    if environ["PATH_INFO"].startswith(("/latest/", "/creds/")):
        return credentials(environ, start_response, environ["PATH_INFO"])
    signed = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition("/")[0]
    if signed and signed not in keys:
        keys.append(signed)
    target, path, query = (environ.get(name, "") for name in ("HTTP_X_AMZ_TARGET", "PATH_INFO", "QUERY_STRING"))
    operation = target.rpartition(".")[2] or ("LIST" if "list-type=" in query else environ["REQUEST_METHOD"])
    counts[operation] += 1
    found, question, answer = meets(operation, path, body), (operation, path, query, body), None
    if found and found.get("past"):
        answer = past.get(question)
    if answer is None and (not found or found.get("done", "first") == "first"):
        answer = answered(environ, start_response, body)
    if found:
        time.sleep(found.get("late", 0))
        if found.get("done") == "late":
            answer = answered(environ, start_response, body)
        if "error" in found:
            answer = refusal(found, not target)
    else:
        past[question] = answer
    (status, headers), text = answer
    headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(status, headers + [("Content-Length", str(len(text)))])
    return [text]


class Connection(BaseHTTPRequestHandler):
    """Connections stay open after an answer, as the service's do."""

    protocol_version = "HTTP/1.1"
    # An answer is one write, and is sent at once.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def serve(self):
        path, _, query = self.path.partition("?")
        length = self.headers.get("Content-Length", "0")
        environ = {
            "REQUEST_METHOD": self.command, "SCRIPT_NAME": "", "PATH_INFO": unquote(path), "QUERY_STRING": query,
            "SERVER_NAME": sys.argv[1], "SERVER_PORT": sys.argv[2], "SERVER_PROTOCOL": self.request_version,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": length,
            "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(self.rfile.read(int(length))),
            "wsgi.errors": sys.stderr, "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            environ["HTTP_" + name.upper().replace("-", "_")] = value
        one = {}

        def started(status, headers):
            one["head"] = (status, headers)

        text = b"".join(one_at_a_time(environ, started))
        status, headers = one["head"]
        number, _, reason = status.partition(" ")
        self.send_response(int(number), reason)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = serve


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


Server((sys.argv[1], int(sys.argv[2])), Connection).serve_forever()
