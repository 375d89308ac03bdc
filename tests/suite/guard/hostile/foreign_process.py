# Takes what the command hands on, and keeps it: as descriptors, mapped into its memory, or in a socket that nobody
# reads.
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(chr(0) + sys.argv[1])
    listener.listen()
    print('listens', flush=True)
    other, _ = listener.accept()
    _, kept, _, _ = socket.recv_fds(other, 1, 16)
    if sys.argv[2] == 'maps':
        # As Python's own keeps a descriptor.
        mmap = ctypes.CDLL(None).mmap
        mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
        for mark in kept:
            mmap(None, 4096, 1, 1, mark, 0)
    if sys.argv[2] == 'hides':
        here, there = socket.socketpair()
        socket.send_fds(here, [b'x'], kept)
    if sys.argv[2] != 'keeps':
        for mark in kept:
            os.close(mark)
    other.send(b'x')
while True:
    signal.pause()
