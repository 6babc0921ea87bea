package bench

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where a benchmark ran. What cannot be read is empty or nil.
type Machine struct {
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"`
	Kernel  string   `json:"kernel"`
	Go      string   `json:"go"`
	LoadAvg *float64 `json:"load_avg_1m"`
}

// ReadMachine reads it now: the load average before a run tells whether anybody else was busy.
func ReadMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.Kernel = strings.TrimSpace(readText("/proc/sys/kernel/osrelease"))
	for line := range strings.Lines(readText("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	first, _, _ := strings.Cut(readText("/proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil {
		m.LoadAvg = &load
	}
	return m
}

// LoadAverage is the load average as text, a dash where it is unknown.
func (m Machine) LoadAverage() string { return cell(m.LoadAvg) }

// readText answers nothing for a file that this system does not have.
func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
