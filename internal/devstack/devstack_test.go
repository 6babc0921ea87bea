package devstack_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"telefuser/internal/devstack"
)

// parentDir turns this test binary into a parent that starts a server in the directory, prints its process id and waits to be killed.
var parentDir = flag.String("parent", "", "directory of the parent mode")

func TestMain(m *testing.M) {
	flag.Parse()
	if *parentDir != "" {
		actAsParent(*parentDir)
	}
	os.Exit(m.Run())
}

func actAsParent(dir string) {
	r, err := devstack.StartRedis(context.Background(), dir, devstack.RedisOptions{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(r.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func startRedis(t *testing.T, o devstack.RedisOptions) *devstack.Redis {
	t.Helper()
	r, err := devstack.StartRedis(t.Context(), t.TempDir(), o)
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

func ask(t *testing.T, r *devstack.Redis, command string) string {
	t.Helper()
	conn, err := net.DialTimeout(r.Network, r.Addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err == nil && strings.HasPrefix(line, "$") && !strings.HasPrefix(line, "$-1") {
		line, err = in.ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestRedisKeepsItsDataOverACrash(t *testing.T) {
	r := startRedis(t, devstack.RedisOptions{})
	if got := ask(t, r, "SET k v1"); got != "+OK" {
		t.Fatalf("SET: %s", got)
	}
	addr := r.Addr
	r.Kill()
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Fatal("it still listens after Kill")
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.Addr != addr {
		t.Errorf("address changed from %s to %s", addr, r.Addr)
	}
	if got := ask(t, r, "GET k"); got != "v1" {
		t.Errorf("GET after the crash: %s", got)
	}
}

func TestRedisOnAUnixSocketRefusesToEvict(t *testing.T) {
	r := startRedis(t, devstack.RedisOptions{Socket: filepath.Join(t.TempDir(), "r.sock"), MaxMemoryBytes: 1})
	if got := ask(t, r, "SET k v"); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("SET above maxmemory: %s", got)
	}
}

func TestRedisThatCannotStartSaysWhy(t *testing.T) {
	_, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{AppendFsync: "sometimes"})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "appendfsync") {
		t.Errorf("got %v", err)
	}
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	if _, err := devstack.LookTool("redis-server"); err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, "-parent", t.TempDir())
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent says %q", line)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitFor(t, "the child to die", func() bool { return !alive(pid) })
}

// alive is false for zombies too: an orphan whose new parent is slow to reap it has ended all the same.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func TestVersityGWStartsStopsAndRestarts(t *testing.T) {
	s, err := devstack.StartVersityGW(t.Context(), t.TempDir())
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if got := status(t, s.Endpoint); got != http.StatusForbidden {
		t.Errorf("without a signature: %d", got)
	}
	s.Stop()
	if res, err := http.Get(s.Endpoint); err == nil {
		res.Body.Close()
		t.Error("it answers after Stop")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s.Endpoint); got != http.StatusForbidden {
		t.Errorf("after Restart: %d", got)
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestLookToolSaysHowToGetIt(t *testing.T) {
	_, err := devstack.LookTool("no-such-tool")
	if !errors.Is(err, devstack.ErrNoTool) || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("got %v", err)
	}
}

func TestLiveKitStartsStopsAndRestarts(t *testing.T) {
	l, err := devstack.StartLiveKit(t.Context(), t.TempDir(), devstack.LiveKitOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	address := strings.Replace(l.URL, "ws", "http", 1)
	if got := status(t, address); got != http.StatusOK {
		t.Errorf("after the start: %d", got)
	}
	l.Kill()
	if res, err := http.Get(address); err == nil {
		res.Body.Close()
		t.Error("it answers after Kill")
	}
	if err := l.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := status(t, address); got != http.StatusOK {
		t.Errorf("after Restart: %d", got)
	}
	l.Stop()
	if alive(l.PID()) {
		t.Error("it lives after Stop")
	}
}

// TestLiveKitListensOnLoopbackOnly looks at the kernel's tables: what listens elsewhere can be reached from the network.
func TestLiveKitListensOnLoopbackOnly(t *testing.T) {
	l, err := devstack.StartLiveKit(t.Context(), t.TempDir(), devstack.LiveKitOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	sockets := socketsOf(t, l.PID())
	found := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Skip(err)
		}
		for _, line := range strings.Split(string(text), "\n")[1:] {
			// Local address, remote address, state, ..., inode.
			f := strings.Fields(line)
			if len(f) < 10 || !sockets[f[9]] {
				continue
			}
			found++
			if local, _, _ := strings.Cut(f[1], ":"); local != "0100007F" && local != "00000000000000000000000001000000" {
				t.Errorf("%s: a socket on %s", table, f[1])
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d sockets found: the test sees nothing", found)
	}
}

// socketsOf lists the numbers of a process's sockets.
func socketsOf(t *testing.T, pid int) map[string]bool {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Skip(err)
	}
	sockets := map[string]bool{}
	for _, e := range list {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if number, isSocket := strings.CutPrefix(target, "socket:["); isSocket {
			sockets[strings.TrimSuffix(number, "]")] = true
		}
	}
	return sockets
}

// TestFreePortsStayFree wants ports that no outgoing connection is given, which would be in the way of a server that comes back.
func TestFreePortsStayFree(t *testing.T) {
	for range 50 {
		port, err := devstack.FreePort(1, 10)
		if err != nil {
			t.Fatal(err)
		}
		if port >= 32_768 {
			t.Errorf("port %d is one that outgoing connections get", port)
		}
		for _, offset := range []int{0, 1, 10} {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+offset)))
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
		}
	}
}
