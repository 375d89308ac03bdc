# What a container of README's manifests is to a program: a file system that it cannot write to, a process
# tree of its own, no capabilities, another user, and a folder that it shares with its pod.
#   SHARED FOLDER, BINARIES, "ro" or "rw", USER, COMMAND...
set -e
shared=$1 binaries=$2 access=$3 user=$4
shift 4
mount -t tmpfs tmpfs /run
mkdir /run/elect /run/bin
mount --bind "$shared" /run/elect
mount -o "remount,bind,$access" /run/elect
mount --bind "$binaries" /run/bin
mount -o remount,bind,ro /run
mount -o remount,bind,ro /
PATH=/run/bin:$PATH
exec setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs --bounding-set=-all "$@"
