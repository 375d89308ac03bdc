// A wall clock as many seconds ahead as the file $WALL_CLOCK_OFFSET says, for programs that preload this.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    char text[32];
    const char *path = getenv("WALL_CLOCK_OFFSET");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    long length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    return atol(text);
}

int clock_gettime(clockid_t id, struct timespec *at) {
    long result = syscall(SYS_clock_gettime, id, at);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += offset();
    return (int)result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    long result = syscall(SYS_gettimeofday, at, zone);
    if (result == 0 && at) at->tv_sec += offset();
    return (int)result;
}

time_t time(time_t *at) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
