"""Takes part in an election with kazoo until the file UNTIL is there, at least once:

    kazoo_peer.py lock|election HOST:PORT NODE ID UNTIL COMMAND...

While it leads it runs the command, with its fencing token in ELECT_TOKEN: the czxid of its node.
"""

import os
import subprocess
import sys

from kazoo.client import KazooClient

SESSION_SECONDS = 4.0


def main():
    kind, server, node, identity, until, *command = sys.argv[1:]
    client = KazooClient(hosts=server, timeout=SESSION_SECONDS)
    client.start()

    def lead(lock):
        _, stat = client.get(f"{lock.path}/{lock.node}")
        environment = {**os.environ, "ELECT_TOKEN": str(stat.czxid)}
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=True)

    def turn():
        if kind == "lock":
            lock = client.Lock(node, identity)
            with lock:
                lead(lock)
        else:
            election = client.Election(node, identity)
            election.run(lead, election.lock)

    turn()
    while not os.path.exists(until):
        turn()
    client.stop()


main()
