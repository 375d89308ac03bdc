"""moto, which checks a condition and writes in two steps: here one request is served at a time."""

import sys
from threading import Lock

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

serve, lock = DomainDispatcherApplication(create_backend_app), Lock()


def one_at_a_time(environ, start_response):
    with lock:
        return list(serve(environ, start_response))


run_simple("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True)
