// A Go program that leads an election as client-go's example of leader election does (LeaseLock, ReleaseOnCancel), with the
// durations as flags. While it leads it runs a command, its words, with ELECT_TOKEN in the environment. It ends when it has
// lost the lease or the command has ended. Each line that it prints begins with CLOCK_BOOTTIME in nanoseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "the file that says where the API server is and who we are")
	name       = flag.String("lease-lock-name", "", "the name of the Lease")
	namespace  = flag.String("lease-lock-namespace", "", "the namespace of the Lease")
	id         = flag.String("id", "", "our identity")
	duration   = flag.Duration("lease-duration", 15*time.Second, "LeaseDuration")
	deadline   = flag.Duration("renew-deadline", 10*time.Second, "RenewDeadline")
	retry      = flag.Duration("retry-period", 2*time.Second, "RetryPeriod")
)

const bootTime = 7

func say(format string, values ...interface{}) {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&now)), 0)
	fmt.Printf("%d %s\n", now.Nano(), fmt.Sprintf(format, values...))
}

func check(err error) {
	if err != nil {
		say("fails: %v", err)
		os.Exit(1)
	}
}

// The version of the Lease as the command starts is greater than that of the write by which we lead, or the same, and smaller than
// that of each write of later leaders. One less is between the tokens of elect before and after us.
func token(ctx context.Context, client *coordination.CoordinationV1Client) string {
	for ctx.Err() == nil {
		lease, err := client.Leases(*namespace).Get(ctx, *name, metav1.GetOptions{})
		if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == *id {
			version, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
			check(err)
			return strconv.FormatUint(version-1, 10)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ""
}

// Runs the command until it ends or the context does, whichever comes first. If we are killed, so is the command.
func work(ctx context.Context, token string) {
	// The kernel kills it with the thread that starts it.
	runtime.LockOSThread()
	if ctx.Err() != nil {
		return
	}
	command := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	command.Env = append(os.Environ(), "ELECT_TOKEN="+token)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(command.Start())
	say("runs %d", command.Process.Pid)
	command.Wait()
	say("stopped")
}

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	client, err := coordination.NewForConfig(config)
	check(err)
	election, resign := context.WithCancel(context.Background())
	// What the lease protects ends before the lease is given up.
	working, stop := context.WithCancel(context.Background())
	begun, over := make(chan bool), make(chan bool)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	end := func() {
		stop()
		select {
		case <-begun:
			<-over
		default:
		}
	}
	go func() {
		<-signals
		say("is told to end")
		end()
		resign()
	}()
	leaderelection.RunOrDie(election, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: *name, Namespace: *namespace},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: *id},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   *duration,
		RenewDeadline:   *deadline,
		RetryPeriod:     *retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				close(begun)
				say("leads")
				work(working, token(working, client))
				close(over)
				resign()
			},
			OnStoppedLeading: func() {
				say("lost")
				end()
				os.Exit(0)
			},
			OnNewLeader: func(leader string) { say("sees %s", leader) },
		},
	})
}
