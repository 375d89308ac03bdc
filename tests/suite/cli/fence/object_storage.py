"""Moto's S3 on a port of the loopback interface.

Its threads look at an object and then replace it: here they do so one at a time.
"""

import io
import sys
from threading import Lock

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple
from werkzeug.wsgi import get_input_stream

moto, turn = DomainDispatcherApplication(create_backend_app), Lock()


def one_at_a_time(environ, start_response):
    # Whoever stands still before it has sent all of its request keeps nobody waiting.
    environ["wsgi.input"] = io.BytesIO(get_input_stream(environ).read())
    with turn:
        return list(moto(environ, start_response))


run_simple("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True, request_handler=MotoRequestHandler)
