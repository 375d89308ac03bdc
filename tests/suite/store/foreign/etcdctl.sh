# Takes part in an election with etcdctl until the file UNTIL is there, at least once:
#
#   etcdctl.sh elect|lock HOST:PORT ELECTION ID UNTIL COMMAND...
#
# While it leads it runs the command, with its fencing token in ELECT_TOKEN: the create_revision of its
# key. (ETCD_LOCK_REV, which etcdctl offers, is the revision of some later moment.)
set -eu

# etcdctl is not to stay behind should the test itself be killed.
dies_with_us="setpriv --pdeathsig KILL --"

# etcdctl prints its key once it leads, and then holds on until it is told to end.
elect() {
    $dies_with_us sh -c 'echo "pid : $$"; exec etcdctl elect "$0" "$1" -w fields' "$election" "$id" |
        while read -r name _ value; do
            case $name in
                pid) pid=$value ;;
                '"CreateRevision"')
                    ELECT_TOKEN=$value "$@" </dev/null
                    kill -TERM "$pid"
                    ;;
            esac
        done
}

lock() { $dies_with_us etcdctl lock --ttl 5 "$election" -- sh "$0" locked "$@"; }

case $1 in
    locked)
        shift
        token=$(etcdctl get "$ETCD_LOCK_KEY" -w fields | sed -n 's/^"CreateRevision" : //p')
        ELECT_TOKEN=$token exec "$@"
        ;;
    elect | lock)
        turn=$1 ETCDCTL_ENDPOINTS=$2 election=$3 id=$4 until=$5
        shift 5
        export ETCDCTL_ENDPOINTS
        "$turn" "$@"
        until [ -e "$until" ]; do "$turn" "$@"; done
        ;;
esac
