package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hardened runs a program as the image does: as user 10001, without capabilities or a way to new ones, with a root that nobody can write to and a /tmp of its own. The program comes in by descriptor 3,
// for the folder that it lies in may be the test's alone. It says first that it can write nowhere else.
const hardened = `set -eu
mount --make-rprivate /
exec 3<"$1"
shift
mount -t tmpfs -o size=1g,mode=1777 tmpfs /tmp
cat <&3 >/tmp/telefuser
exec 3<&-
chmod 0755 /tmp/telefuser
mount --bind / /
mount -o remount,bind,ro /
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- /bin/sh -euc '
cd /tmp
for dir in / /etc /usr/bin /var /root; do
  if touch "$dir/probe" 2>/dev/null; then echo "$dir can be written to" >&2; exit 70; fi
done
exec /tmp/telefuser "$@"' telefuser "$@"`

// TestReadOnlyRootAsNobody makes a video by the whole embedded stack under the rights of the image, where no container runtime is needed for that.
func TestReadOnlyRootAsNobody(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on PATH: it is in the package util-linux", tool)
		}
	}
	if os.Getuid() != 0 || exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("mount namespaces need root and the right to make them")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	p := start(t, spawn{name: "dev", path: "/usr/bin/unshare", dir: "/", args: []string{"--mount", shell, "-c", hardened, "hardened", program(t), "dev", "--port", "0", "--data-dir", "/tmp/data"}})
	c := newClient(lineOf(t, p, "ready"))
	v := c.make(t, small("a lake without rights"))
	if got := probe(t, c.content(t, v.ID, "video")); got.frames == 0 {
		t.Errorf("%+v", got)
	}
	for _, pid := range family(t, p.cmd.Process.Pid) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended
		}
		for name, want := range map[string]string{"Uid": "10001\t10001\t10001\t10001", "CapEff": strings.Repeat("0", 16), "CapBnd": strings.Repeat("0", 16), "NoNewPrivs": "1"} {
			if got := statusField(string(status), name); got != want {
				t.Errorf("process %d: %s is %q, want %q", pid, name, got, want)
			}
		}
	}
	p.stop(t)
}

// statusField reads a line of /proc/PID/status.
func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, name+":\t"); found {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// family is a process with all its descendants.
func family(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for _, word := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil && !slices.Contains(all, child) {
				all = append(all, family(t, child)...)
			}
		}
	}
	return all
}
