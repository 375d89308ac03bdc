# Does to each descriptor but the standard ones what could let go of a lease, or turn a death-pipe elsewhere. Then it
# hands them on to whoever listens at the first argument, if there is one, names them, and stays.
inherited = []
for name in os.listdir('/proc/self/fd'):
    try:
        inherited.append((int(name), os.readlink('/proc/self/fd/' + name)))
    except OSError:
        pass
inherited = [(number, path) for number, path in sorted(inherited) if number > 2]
F_OFD_SETLK = 37
def attempt(deed, *words):
    try:
        deed(*words)
    except OSError:
        pass
if len(sys.argv) > 1:
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(chr(0) + sys.argv[1])
        socket.send_fds(other, [b'x'], [number for number, _ in inherited])
        other.recv(1)
else:
    for number, _ in inherited:
        attempt(os.write, number, b'x')
        attempt(os.ftruncate, number, 0)
        for kind in (fcntl.F_UNLCK, fcntl.F_WRLCK, fcntl.F_UNLCK):
            attempt(fcntl.fcntl, number, F_OFD_SETLK, struct.pack('hhqqi', kind, 0, 0, 0, 0))
        attempt(fcntl.fcntl, number, fcntl.F_SETOWN, 0)
        attempt(fcntl.fcntl, number, fcntl.F_SETFL, 0)
child = os.fork()
while child == 0:
    signal.pause()
print(child, *(path for _, path in inherited), flush=True)
while True:
    signal.pause()
